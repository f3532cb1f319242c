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
from typing import Protocol, TextIO

_KNOWS_NO_CODES = ("", "dumb", "unknown")
"""Values of TERM."""


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


@dataclass(frozen=True, kw_only=True)
class Message:
    """What was sent."""

    text: str
    quoted: bool
    """Whether it came between triple quotes or by a paste, so that it cannot be a command."""


Fragments = Sequence[tuple[str, str]]
"""Pieces of a line: style (as prompt_toolkit writes it) and text."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every line editor is given."""

    complete: Callable[[str], Iterable[Suggestion]]
    bottom_line: Callable[[], Fragments]
    color: bool
    output: TextIO
    keyboard: int
    clock: Callable[[], float]
    note: Callable[[str], None]
    environ: Mapping[str, str]


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
        output: TextIO,
        clock: Callable[[], float],
        note: Callable[[str], None],
        keyboard: int = 0,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """history: the file that keeps what was sent; None keeps nothing. complete: gets the text
        before the cursor. bottom_line: asked at every drawing. output: the terminal that shows the
        prompt. clock: seconds. note: writes one line on the terminal. keyboard: a terminal's
        descriptor."""
        self.quoted = False
        """Whether the last message was quoted or pasted: then it is no command, only text."""
        self._history_path = history
        self._options = Options(
            complete=complete,
            bottom_line=bottom_line,
            color=color,
            output=output,
            keyboard=keyboard,
            clock=clock,
            note=note,
            environ=environ,
        )

    def prepare(self) -> None:
        """Import what reading needs (tens of milliseconds), as long as there is time for it."""

    def read(self, *, default: str = "", quiet_until: float = 0.0) -> str:
        """The next message, "" for a bare Enter. Left, Terminated.

        default: text that stands there already. quiet_until: Ctrl-C before this time of the clock
        does nothing: it was meant for what ran before.
        """
        raise NotImplementedError
