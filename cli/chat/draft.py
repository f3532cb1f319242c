"""The text that is being typed, and how much of it was typed at all.

A paste is taken as it is: neither quotes at its beginning nor a backslash at its end mean anything.
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
        self.buffer.on_text_changed += self._notice_empty
        self._history = history
        self._untouched = ""
        """The whole text after the last paste: what follows is not in it."""
        self._begins_untyped = False
        """Whether the text, unless it is a recalled one, begins with a paste."""

    @property
    def text(self) -> str:
        """All of it."""
        return self.folding.unfold(self.buffer.text)

    def start(self, text: str) -> None:
        """A new prompt with this text, which nobody typed. To be called inside of the loop."""
        text = self.folding.fold(text)
        self.buffer.reset(Document(text))
        self.buffer.load_history_if_not_yet_loaded()
        self._untouched, self._begins_untyped = text, bool(text)

    def replace(self, text: str) -> None:
        """Put a text there that nobody typed. Undo brings back what it replaces."""
        self.buffer.save_to_undo_stack()
        self.buffer.exit_selection()
        self.buffer.go_to_history(len(self._history.entries()))
        text = self.folding.fold(text)
        self.buffer.document = Document(text)
        self._untouched, self._begins_untyped = text, bool(text)

    def paste(self, text: str) -> None:
        """Insert it at the cursor."""
        if self.buffer.cursor_position == 0:
            self._begins_untyped = self._is_fresh()
        self.buffer.insert_text(self.folding.fold(text))
        self._untouched = self.buffer.text

    def enter(self) -> Message | None:
        """The message, now that Enter was pressed; None if it goes on: the next line is begun."""
        text = self.buffer.text
        typed = not (self._begins_untyped and self._is_fresh())
        untouched = text == self._untouched or (self._is_fresh() and self.folding.ends(text))
        message = entered(_whole(self.text), typed=typed, untouched=untouched)
        if message is None:
            if not opens_block(self.text, typed=typed):
                self.buffer.document = Document(text.removesuffix(GOES_ON))
            self.buffer.newline(copy_margin=False)
        return message

    def _is_fresh(self) -> bool:
        """Whether the text is no recalled one: the buffer has it behind all that are."""
        return self.buffer.working_index == len(self._history.entries())

    def _notice_empty(self, buffer: Buffer) -> None:
        if not buffer.text:
            self._begins_untyped = False


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
