"""A line on a terminal that stays below the text while the text grows, and leaves no trace.

The terminal is only ever asked for what the oldest of them know: one row down (which scrolls at the
bottom and keeps the column), up, save and restore the cursor, erase. The line is taken away before
text would run into it. Nothing is drawn while the cursor may stand at the window's edge, where a
movement would change what the next character does.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from nextok.cli.cursor_column import CursorColumn
from nextok.cli.stdout import Stdout

PERIOD = 0.05
"""Seconds from one drawing to the next."""
_ROOM_BELOW = "\x1bD\x1b[A"
_SAVE, _RESTORE = "\x1b7", "\x1b8"
_ERASE = f"{_SAVE}\x1b[0m\x1b[J{_RESTORE}"
"""All behind and below the cursor. Without colours: terminals erase with the one that is set."""
_LEAST_COLUMNS, _LEAST_ROWS = 8, 2
_OTHERWISE = os.terminal_size((80, 24))
"""For a terminal that does not know its own size."""


class LineBelow:
    """One line, for the time of one answer; the cursor is at a row's start when it begins."""

    def __init__(self, stdout: Stdout, text: Callable[[int], str]) -> None:
        """text: the line for so many columns, its colour codes reset at its end."""
        self._stdout = stdout
        self._text = text
        self._cursor = CursorColumn(self._size().columns)
        self._is_drawn = False
        self._drawn_at = self._returned_at = float("-inf")
        stdout.below = self

    def make_way(self, text: str) -> str:
        """What to write for this text, so that it does not run into the line."""
        stays = self._cursor.advance(text)
        if stays or not self._is_drawn:
            return text
        self._is_drawn = False
        return _ERASE + text

    def refresh(self, now: float) -> None:
        """Draw the line again, if that is due. now: seconds of any clock, the same every time.

        Pushed away by text it comes back at once, as long as that is not too often.
        """
        if now < (self._drawn_at if self._is_drawn else self._returned_at) + PERIOD:
            return
        size = self._size()
        if size.columns != self._cursor.width:
            self._cursor.resize(size.columns)
            self._erase()
        if not self._cursor.is_inside or size.columns < _LEAST_COLUMNS or size.lines < _LEAST_ROWS:
            return
        if not self._is_drawn:
            self._returned_at = now
        self._drawn_at, self._is_drawn = now, True
        line = self._text(size.columns - 1)
        self._stdout.beside(f"{_ROOM_BELOW}{_SAVE}\x1b[B\r\x1b[0m{line}\x1b[K{_RESTORE}")

    def close(self) -> None:
        """Take it away for good."""
        self._erase()
        if self._stdout.below is self:
            self._stdout.below = None

    def _erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._stdout.beside(_ERASE)

    def _size(self) -> os.terminal_size:
        try:
            found = os.get_terminal_size(self._stdout.descriptor)
        except OSError:
            return _OTHERWISE
        return found if found.columns and found.lines else _OTHERWISE
