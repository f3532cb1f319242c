"""Rows of cells in aligned columns, shown one by one before the next is known.

When a row needs wider columns, the grid is drawn again as long as all of it is in the window. After
that cells are folded to the columns as they are; only a row that could not be read in them gets
wider ones, and so do those that follow. A window too narrow for columns gets a line for each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from nextok.cli.chat.markdown_columns import Align, aligned, fitted, folded, need, width_of
from nextok.cli.chat.markdown_layout import LineLayout
from nextok.cli.chat.markdown_pen import Piece
from nextok.cli.chat.markdown_style import Glyphs, Style

Line: TypeAlias = list[Piece]

Row: TypeAlias = Sequence[Line]
"""A cell's text for each column."""

_WALL_COLUMNS = 3
_RECORD_RULE = 3
_MOST_LINES = 3


class Grid:
    """The first line stands where the layout's line is open with nothing but its margin."""

    def __init__(
        self,
        layout: LineLayout,
        glyphs: Glyphs,
        faint: Style,
        header: Row,
        aligns: Sequence[Align],
        height: Callable[[], int],
    ) -> None:
        """faint: the style of walls and rules. height: rows that the window has now."""
        self.count = len(header)
        self._layout = layout
        self._glyphs = glyphs
        self._faint = faint
        self._header = header
        self._aligns = aligns
        self._height = height
        self._rows: list[Row] = []
        """Those shown, as long as they can be drawn again."""
        self._is_live = True
        """Whether all that was drawn is in the window, as it was drawn."""
        self._first_margin = self._margin = list(layout.row)
        self._drawn: list[Line] = []
        self._has_records = False
        self._needs = [need(cell) for cell in header]
        self._widths = fitted(self._needs, self._room())
        if self._widths is not None:
            self._write(self._head_lines(self._widths))

    def freeze(self) -> None:
        """What was drawn may stand elsewhere now: go on below it."""
        self._is_live = False
        self._rows.clear()
        self._drawn.clear()

    def row(self, row: Row) -> None:
        """Show a row in the layout's open line and below."""
        self._needs = [known | need(cell) for known, cell in zip(self._needs, row, strict=True)]
        self._margin = list(self._layout.row)
        if self._is_live and not self._is_in_window():
            self.freeze()
        if self._is_live:
            self._rows.append(row)
        widths = self._next_widths(row)
        if widths is None:
            self._record(row)
        elif widths == self._widths or not self._is_live:
            self._write(self._row_lines(row, widths))
        else:
            self._redraw(widths)
        self._widths = widths

    def close(self) -> None:
        """No row will follow."""
        if self._widths is None and not self._has_records:
            for name in self._header:
                self._field(name)

    def _room(self) -> int:
        walls = _WALL_COLUMNS * (self.count - 1)
        return self._layout.width() - width_of(self._margin) - walls

    def _is_in_window(self) -> bool:
        margin = max(width_of(self._first_margin), width_of(self._margin))
        widest = margin + max((width_of(line) for line in self._drawn), default=0)
        return len(self._drawn) < self._height() and widest <= self._layout.width()

    def _next_widths(self, row: Row) -> list[int] | None:
        """The columns' widths from now on; None: no columns."""
        known = self._widths
        if known is None:
            return None
        if not self._is_live and sum(known) <= self._room() and self._is_readable(row, known):
            return known
        return fitted(self._needs, self._room())

    def _is_readable(self, row: Row, widths: Sequence[int]) -> bool:
        """Whether a row can do with widths made for others, without long or broken cells."""
        return all(
            need(cell).word <= width and len(folded(cell, width)) <= _MOST_LINES
            for cell, width in zip(row, widths, strict=True)
        )

    def _write(self, lines: Sequence[Line]) -> None:
        for line in lines:
            self._layout.begin()
            self._layout.pen.pieces(line)
            self._layout.end_line()
        if self._is_live:
            self._drawn += lines

    def _redraw(self, widths: Sequence[int]) -> None:
        lines = self._head_lines(widths)
        for row in self._rows:
            lines += self._row_lines(row, widths)
        pen, rows_before = self._layout.pen, len(self._drawn)
        pen.up(rows_before)
        for index, line in enumerate(lines):
            if index:
                pen.break_line()
            pen.clear_row()
            pen.pieces(self._margin if index else self._first_margin)
            pen.pieces(line)
        stale = rows_before + 1 - len(lines)
        for _ in range(stale):
            pen.break_line()
            pen.clear_row()
        if stale > 0:
            pen.up(stale)
        self._layout.end_line()
        self._drawn = lines

    def _head_lines(self, widths: Sequence[int]) -> list[Line]:
        rule, crossing = self._glyphs.rule, self._glyphs.crossing
        line = f"{rule}{crossing}{rule}".join(rule * width for width in widths)
        return [*self._row_lines(self._header, widths), [Piece(line, self._faint)]]

    def _row_lines(self, row: Row, widths: Sequence[int]) -> list[Line]:
        cells = [folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        return [list(self._side_by_side(parts, widths)) for parts in zip_longest(*cells)]

    def _side_by_side(self, parts: Sequence[Line | None], widths: Sequence[int]) -> Iterator[Piece]:
        for index, part in enumerate(parts):
            if index:
                yield Piece(f" {self._glyphs.wall} ", self._faint)
            last = index == len(parts) - 1
            yield from aligned(part or [], widths[index], self._aligns[index], last=last)

    def _record(self, row: Row) -> None:
        if self._has_records:
            self._layout.write(self._glyphs.rule * _RECORD_RULE, self._faint)
            self._layout.end_line()
        self._has_records = True
        for name, cell in zip(self._header, row, strict=True):
            self._field([*name, Piece(": "), *cell])

    def _field(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self._layout.write(*piece)
        self._layout.end_line()
