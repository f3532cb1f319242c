"""A reply shown exactly as it is, and what every way of showing one has in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ReplyStream(Protocol):
    """Shows one reply on a terminal while it is being made.

    The text it is fed has no control characters but newline and tab: nothing in it may drive the
    terminal. A stream starts at a line start and serves one reply.
    """

    @property
    def at_line_start(self) -> bool:
        """Whether the cursor stands in the first column of a line with nothing on it."""

    @property
    def column(self) -> int:
        """Columns already filled in the line the cursor stands in."""

    def feed(self, text: str) -> None:
        """Show the next piece, of any size, at once."""

    def close(self) -> None:
        """The reply is over, or was cut off: leave styles reset and the cursor at a line start."""


class PlainStream:
    """The text as it is: no style, no wrapping, no escape sequence."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """write: takes text to the terminal, at once."""
        self._write = write
        self._line = ""

    @property
    def at_line_start(self) -> bool:
        """Whether the cursor stands in the first column of a line with nothing on it."""
        return not self._line

    @property
    def column(self) -> int:
        """Columns already filled in the line the cursor stands in."""
        from wcwidth import wcswidth

        return max(0, wcswidth(self._line.expandtabs()))

    def feed(self, text: str) -> None:
        """Show the next piece."""
        if text:
            self._line = (self._line + text).rpartition("\n")[2]
            self._write(text)

    def close(self) -> None:
        """End the line, unless the text ended in a newline."""
        if self._line:
            self.feed("\n")
