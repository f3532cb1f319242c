"""The line editor: one message at a time from a terminal, and every way a person may leave.

Which editor it is depends on the terminal: one that knows escape codes gets the full one
(`screen_editor`), any other its own line editing (`plain_editor`). Neither is imported before it
is needed. What a message means is not known here: a command is text as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nextok.cli.chat.history import InputHistory
from nextok.cli.chat.message import Message
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.console import knows_codes


class Left(Exception):
    """The person leaves: Ctrl-D on an empty line, or Ctrl-C twice within a second."""


class Terminated(Exception):
    """A signal asks the process to end. The terminal is as it was before."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """One way to complete what is typed."""

    text: str
    """What takes the place of the characters from `start_position` on."""
    start_position: int = 0
    """Where it begins, counted from the cursor: 0 or less."""
    meta: str = ""
    """A few words about it."""


Fragments = Sequence[tuple[str, str]]
"""Pieces of a line: style (as prompt_toolkit writes it) and text."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every line editor is given."""

    complete: Callable[[str], Iterable[Suggestion]]
    bottom_line: Callable[[], Fragments]
    color: bool
    output: int
    keyboard: int
    clock: Callable[[], float]
    note: Callable[[str], None]
    environ: Mapping[str, str]
    quiet: QuietKeys
    """Knows the terminal's modes for other programs."""


class LineEditor(Protocol):
    """A terminal's line editor."""

    def read(self, *, default: str, quiet_until: float) -> Message:
        """Read one message. Left, Terminated."""


class Editor:
    """Reads messages. Around each `read` the terminal is as its owner left it."""

    def __init__(
        self,
        *,
        history: Path | None,
        complete: Callable[[str], Iterable[Suggestion]],
        bottom_line: Callable[[], Fragments],
        color: bool,
        output: int,
        clock: Callable[[], float],
        note: Callable[[str], None],
        keyboard: int = 0,
        environ: Mapping[str, str] = os.environ,
        quiet: QuietKeys | None = None,
    ) -> None:
        """history: the file that keeps what was sent; None keeps nothing. complete: gets the text
        before the cursor. bottom_line: asked at every drawing. output, keyboard: descriptors of
        the terminal that shows the prompt and of the one that is typed on. clock: seconds. note:
        writes one line on the terminal. quiet: those that are on around `read`, so that other
        programs (the user's editor, the shell after Ctrl-Z) find the modes from before them."""
        self.quoted = False
        """Whether the last message is no command, whatever it looks like: see `Message`."""
        self._history = InputHistory(history)
        self._line_editor: LineEditor | None = None
        self._options = Options(
            complete=complete,
            bottom_line=bottom_line,
            color=color,
            output=output,
            keyboard=keyboard,
            clock=clock,
            note=note,
            environ=environ,
            quiet=quiet or QuietKeys(keyboard),
        )

    def prepare(self) -> None:
        """Import what reading needs (tens of milliseconds), while there is time for it."""
        self._editor_of_this_terminal()

    def read(self, *, default: str = "", quiet_until: float = 0.0) -> str:
        """The next message, "" for a bare Enter. Left, Terminated.

        default: text that stands there already. quiet_until: Ctrl-C before this time of the clock
        does nothing: it was meant for what ran before.
        """
        editor = self._editor_of_this_terminal()
        message = editor.read(default=default, quiet_until=quiet_until)
        self.quoted = message.quoted
        trouble = self._history.add(message.recalled)
        if trouble:
            self._options.note(trouble)
        return message.text

    def _editor_of_this_terminal(self) -> LineEditor:
        if self._line_editor is None:
            self._line_editor = self._made()
        return self._line_editor

    def _made(self) -> LineEditor:
        if not knows_codes(self._options.environ):
            from nextok.cli.chat.plain_editor import PlainEditor

            return PlainEditor(self._options)
        from nextok.cli.chat.screen_editor import ScreenEditor

        return ScreenEditor(self._options, self._history)
