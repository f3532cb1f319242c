"""Lays styled text out in lines, as it comes.

A word is on the screen before it is whole. When it turns out not to fit, it is taken off the
current row and begun again in the next one: no other row is ever touched. The window's width is
asked for again all the time; a line that a narrower window has already folded is only continued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nextok.cli.chat.markdown_pen import Pen, Piece
from nextok.cli.chat.markdown_style import Style
from nextok.cli.chat.markdown_width import columns, fitting, units

_LEAST_WIDTH = 4
"""Columns of the narrowest window that is laid out for."""

_LEAST_ROOM = 2
"""Columns right of the margin, for a wide character at least."""


class Margin(Protocol):
    """What stands at the left of every line."""

    def next_line(self, width: int) -> Sequence[Piece]:
        """What begins the next line; what is said once (a bullet) is then used up."""


class LineLayout:
    """One line after the other, each between the margin and the window's edge."""

    def __init__(self, pen: Pen, width: Callable[[], int], margin: Margin) -> None:
        self.pen = pen
        self._width = width
        self._margin = margin
        self._is_open = False
        self._line_width = 0
        self._row: list[Piece] = []
        """What stands in the row before the last word."""
        self._word: list[Piece] = []
        """The last word, the spaces before it first."""
        self._spaces: list[Piece] = []
        """Spaces that are written if a word follows them on the line."""
        self._before = " "
        self._margin_columns = 0
        self._word_column = 0

    @property
    def row(self) -> Sequence[Piece]:
        """What stands in the current row but for its last word: after `begin`, the margin."""
        return self._row

    def width(self) -> int:
        """Columns that a row has: those of the window when the line began, or fewer now."""
        now = self._window_width()
        return min(now, self._line_width) if self._is_open else now

    @property
    def fits_as_begun(self) -> bool:
        """Whether the window is as wide as it was when the line began."""
        return self._window_width() == self._line_width

    def begin(self) -> None:
        """Begin a line, if none is begun."""
        if self._is_open:
            return
        self._line_width = self._window_width()
        self._row = list(self._margin.next_line(self._line_width))
        if sum(columns(piece.text) for piece in self._row) > self._line_width - _LEAST_ROOM:
            *outer, last = self._row  # a number of many digits: the text goes below
            self.pen.pieces(outer)
            self.pen.text(last.text.rstrip(), last.style)
            self.pen.break_line()
            self._row = list(self._margin.next_line(self._line_width))
        self._is_open = True
        self._start_row()

    def end_line(self) -> None:
        """The line is over; spaces at its end are dropped."""
        self.begin()
        self.pen.break_line()
        self._is_open = False

    def clear(self) -> None:
        """Erase the current row up to its margin."""
        self.pen.clear_row()
        self._start_row()

    def write(self, text: str, style: Style) -> None:
        """Write on, in as many lines as it takes."""
        for run, free in units(text, self._before):
            if run[0] == " ":
                self._spaces.append(Piece(run, style))
            else:
                self._put(run, style, free)
            self._before = run[-1]

    def _window_width(self) -> int:
        return max(_LEAST_WIDTH, self._width())

    def _start_row(self) -> None:
        self.pen.pieces(self._row)
        self._margin_columns = self._word_column = self.pen.column
        self._word, self._spaces, self._before = [], [], " "

    def _put(self, run: str, style: Style, free: bool) -> None:
        self.begin()
        if free:
            self._finish_word()
        if self.pen.column == self._margin_columns:
            self._spaces = []
        if self.pen.column > max(self.width(), self._margin_columns):  # the window got narrower
            if not free:
                self._emit(Piece(run, style))
                return
            self._next_line()
        elif self._overflows(run) and self._word_column > self._margin_columns:
            self._move_word()
        while run and self._overflows(run):
            run = self._fill_row(run, style)
        if run:
            self._emit(Piece(run, style))

    def _overflows(self, run: str) -> bool:
        spaces = sum(len(piece.text) for piece in self._spaces)
        return self.pen.column + spaces + columns(run) > self.width()

    def _finish_word(self) -> None:
        """What follows is another word; the spaces held belong to it."""
        self._row += self._word
        self._word = []
        self._word_column = self.pen.column

    def _emit(self, piece: Piece) -> None:
        for part in (*self._spaces, piece):
            self._word.append(part)
            self.pen.text(*part)
        self._spaces = []

    def _move_word(self) -> None:
        """Take the last word off the row and begin the next line with it."""
        word = [piece for piece in self._word if piece.text[0] != " "]
        if self._word:
            self.pen.restart_row()
            self.pen.pieces(self._row)
            self.pen.erase_rest()
        self._next_line()
        for piece in word:
            self._emit(piece)

    def _fill_row(self, run: str, style: Style) -> str:
        """Write as much of a word longer than a line as fits; what is left of it."""
        room = self.width() - self.pen.column
        part = fitting(run, room)
        if not part and self.pen.column == self._margin_columns:
            part = run[0]  # a window too narrow for one character
        if part:
            self._emit(Piece(part, style))
        if len(part) < len(run):
            self._next_line()
        return run[len(part) :]

    def _next_line(self) -> None:
        self.end_line()
        self.begin()
