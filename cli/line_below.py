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
_ERASE_ROWS = f"{_SAVE}\x1b[B\r\x1b[0m\x1b[J{_RESTORE}"
"""All below the cursor's row, which must not be the last one."""
_LEAST_COLUMNS, _LEAST_ROWS = 8, 2
_OTHERWISE = os.terminal_size((80, 24))
"""For a terminal that does not know its own size."""


class LineBelow:
    """One line, for the time of one answer: from `open` to `close`."""

    def __init__(self, stdout: Stdout, text: Callable[[int], str]) -> None:
        """text: the line for so many columns, its colour codes reset at their end."""
        self._stdout = stdout
        self._text = text
        self._cursor = CursorColumn(0)
        self._rows = 0
        self._is_drawn = False
        self._drawn_at = self._returned_at = float("-inf")

    def open(self) -> None:
        """From now on it may be there. The cursor is at a row's start."""
        size = self._size()
        self._cursor, self._rows = CursorColumn(size.columns), size.lines
        self._stdout.below = self

    def make_way(self, text: str) -> str:
        """What to write for this text, so that it does not run into the line."""
        codes = self._resized() if self._is_drawn else ""
        if not self._cursor.advance(text) and self._is_drawn:
            self._is_drawn = False
            codes = _ERASE
        return codes + text

    def refresh(self, now: float) -> None:
        """Draw the line again, if that is due. now: seconds of any clock, the same every time.

        Pushed away by text it comes back at once, as long as that is not too often.
        """
        if now < (self._drawn_at if self._is_drawn else self._returned_at) + PERIOD:
            return
        codes, width = self._resized(), self._cursor.width
        has_room = width >= _LEAST_COLUMNS and self._rows >= _LEAST_ROWS
        line = self._text(width - 1) if has_room and self._cursor.is_inside else ""
        if line:
            codes += f"{_ROOM_BELOW}{_SAVE}\x1b[B\r\x1b[0m{line}\x1b[K{_RESTORE}"
            self._returned_at = self._returned_at if self._is_drawn else now
            self._drawn_at, self._is_drawn = now, True
        if codes:
            self._stdout.beside(codes)

    def close(self) -> None:
        """Take it away for good."""
        codes = self._resized() or (_ERASE if self._is_drawn else "")
        self._is_drawn = False
        if codes:
            self._stdout.beside(codes)
        if self._stdout.below is self:
            self._stdout.below = None

    def _resized(self) -> str:
        """Take in how large the window is. If that is new, what takes the line away."""
        size = self._size()
        if size == (self._cursor.width, self._rows):
            return ""
        # In a narrower window the cursor may stand on the last character, which must stay. In a
        # lower one there may be no row below it.
        codes = _ERASE if size.lines < self._rows else _ERASE_ROWS
        self._cursor.resize(size.columns)
        self._rows = size.lines
        was_drawn, self._is_drawn = self._is_drawn, False
        return codes if was_drawn else ""

    def _size(self) -> os.terminal_size:
        try:
            found = os.get_terminal_size(self._stdout.descriptor)
        except OSError:
            return _OTHERWISE
        return found if found.columns and found.lines else _OTHERWISE
