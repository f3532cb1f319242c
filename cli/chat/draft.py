"""The text that is being typed, and how much of it was typed at all.

A paste is taken as it is: neither a slash or quotes at its beginning nor a backslash at its end
mean anything.
What is long is folded: only `text` is the text.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.history import History

from nextok.cli.chat.folding import Folding
from nextok.cli.chat.history import InputHistory
from nextok.cli.chat.message import GOES_ON, Message, entered, opens_block


class Draft:
    """The one buffer of all prompts, with what was sent before as its earlier lines."""

    def __init__(self, history: InputHistory, completer: Completer) -> None:
        self.folding = Folding()
        self.buffer = Buffer(
            name=DEFAULT_BUFFER,
            history=_Recalled(history, self.folding),
            completer=completer,
            multiline=True,
        )
        self.buffer.on_text_changed += self._notice_change
        self._history = history
        self._untouched = ""
        """The whole text after the last paste: what follows is not in it."""
        self._begins_untyped = False
        """Whether nobody typed how the text begins, unless it is a recalled one."""
        self._begins_as_text = False
        """Whether it came by a paste, or was a message before: then it is no command."""
        self._pasted: set[str] = set()
        """Whole texts that began so: undoing and yanking may bring them back at once."""
        self._seen = ""
        """The text before it changed."""

    @property
    def text(self) -> str:
        """All of it."""
        return self.folding.unfold(self.buffer.text)

    def start(self, text: str) -> None:
        """A new prompt with this text, which nobody typed. To be called inside of the loop."""
        text = self.folding.fold(text)
        self.buffer.reset(Document(text))
        self.buffer.load_history_if_not_yet_loaded()
        self._untouched = self._seen = text
        self._begins_untyped = self._begins_as_text = bool(text)

    def replace(self, text: str) -> None:
        """Put a text there that nobody typed. Undo brings back what it replaces."""
        self.buffer.save_to_undo_stack()
        self.buffer.exit_selection()
        self.buffer.go_to_history(len(self._history.entries()))
        text = self.folding.fold(text)
        as_text = self._begins_as_text
        self.buffer.document = Document(text)
        self._untouched, self._begins_untyped = text, bool(text)
        self._begins_as_text = as_text and bool(text)

    def paste(self, text: str) -> None:
        """Insert it at the cursor."""
        begins = not self.buffer.document.text_before_cursor.strip() and bool(text.strip())
        before = self._begins_untyped, self._begins_as_text
        self.buffer.insert_text(self.folding.fold(text))
        self._begins_untyped, self._begins_as_text = (
            (self._is_fresh(), self._is_fresh()) if begins else before
        )
        if self._begins_as_text:
            self._pasted.add(self.buffer.text)
        self._untouched = self.buffer.text

    def enter(self) -> Message | None:
        """The message, now that Enter was pressed; None if it goes on: the next line is begun."""
        text = self.buffer.text
        typed = not (self._begins_untyped and self._is_fresh())
        is_text = self._begins_as_text and self._is_fresh()
        untouched = text == self._untouched or (self._is_fresh() and self.folding.ends(text))
        message = entered(_whole(self.text), typed=typed, untouched=untouched, is_text=is_text)
        if message is None:
            if not opens_block(self.text, typed=typed):
                self.buffer.document = Document(text.removesuffix(GOES_ON))
            self.buffer.newline(copy_margin=False)
        return message

    def _is_fresh(self) -> bool:
        """Whether the text is no recalled one: the buffer has it behind all that are."""
        return self.buffer.working_index == len(self._history.entries())

    def _notice_change(self, buffer: Buffer) -> None:
        """What is typed before a paste makes the beginning a typed one."""
        before, now, self._seen = self._seen, buffer.text, buffer.text
        added = len(now) - len(before)
        if not now:
            self._begins_untyped = self._begins_as_text = False
        elif not before and added > 1:  # no key does that
            self._begins_untyped = self._begins_as_text = now in self._pasted
        elif 0 < added == buffer.cursor_position and now.endswith(before) and now[:added].strip():
            self._begins_untyped = self._begins_as_text = False


def _whole(text: str) -> str:
    """The text with bytes that are no characters replaced: keys come with them escaped."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Recalled(History):
    """The history as prompt_toolkit wants it; what is added is not its business."""

    def __init__(self, history: InputHistory, folding: Folding) -> None:
        super().__init__()
        self._history = history
        self._folding = folding

    async def load(self) -> AsyncGenerator[str, None]:
        for text in self.load_history_strings():
            yield text

    def get_strings(self) -> list[str]:
        return [self._folding.fold(text) for text in self._history.entries()]

    def load_history_strings(self) -> list[str]:
        return self.get_strings()[::-1]

    def store_string(self, string: str) -> None:
        """Not called: the buffer is never asked to append."""
