"""A block of code: verbatim, each line in its colours once it is complete.

A line is not wrapped: a long one flows over the window's edge, so that it can be copied whole. Only
the row being written is ever drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nextok.cli.chat.markdown_highlight import Highlighter, language
from nextok.cli.chat.markdown_layout import LineLayout
from nextok.cli.chat.markdown_marks import Fence
from nextok.cli.chat.markdown_pen import Piece
from nextok.cli.chat.markdown_style import Theme
from nextok.cli.chat.markdown_width import columns, fitting

_TAB = 4
"""Columns between tab stops, counted from the code's own margin."""

_LEAST_INDENTED = 24
"""Columns of a window in which code is indented."""


class CodeBlock:
    """Fed without the indentation that is not the code's."""

    def __init__(self, layout: LineLayout, theme: Theme, info: str) -> None:
        """info: what stands behind the fence; its first word names the language."""
        self._layout = layout
        self._pen = layout.pen
        self._indent = Piece(theme.code_indent)
        self._highlighter = Highlighter(language(info) if layout.pen.color else "")
        self._is_open = False
        self._line = ""
        self._margin: list[Piece] = []
        """What stands left of the code in the current row."""
        self._row_start = 0
        """Where in the line the current row begins."""
        self._room = 0
        """Columns left in the current row."""
        if info:
            self._begin_line()
            self._pen.text(info.replace("\t", " "), theme.faint)
            layout.end_line()

    def text(self, text: str) -> None:
        """The next piece of a line."""
        self._begin()
        if "\t" in text:
            text = self._without_tabs(text)
        while text:
            part = fitting(text, self._room)
            if not part and self._row_start < len(self._line):
                self._next_row()
                continue
            part = part or text[0]  # a window too narrow for one character
            self._pen.text(part)
            self._line += part
            self._room -= columns(part)
            text = text[len(part) :]

    def end_line(self) -> None:
        """The line is over."""
        self._colour_row(whole=True)
        self._layout.end_line()
        self._is_open, self._line = False, ""

    def close(self) -> None:
        """The block is over, maybe in the middle of a line."""
        if self._is_open:
            self.end_line()

    def _begin(self) -> None:
        if self._is_open:
            return
        self._begin_line()
        self._room = self._layout.width() - self._pen.column
        self._is_open, self._row_start = True, 0

    def _begin_line(self) -> None:
        self._layout.begin()
        self._margin = list(self._layout.row)
        if self._layout.width() >= _LEAST_INDENTED:
            self._margin.append(self._indent)
            self._pen.pieces((self._indent,))

    def _without_tabs(self, text: str) -> str:
        start = columns(self._line)
        first, *others = text.split("\t")
        for part in others:
            first += " " * (_TAB - (start + columns(first)) % _TAB) + part
        return first

    def _next_row(self) -> None:
        """The row is full: the terminal goes on in the next one by itself."""
        self._colour_row(whole=False)
        self._row_start = len(self._line)
        self._margin = []
        self._room = self._layout.width()

    def _colour_row(self, *, whole: bool) -> None:
        pieces = self._highlighter.line(self._line, whole=whole)
        # Where a flowing line was folded is certain in a window that has not changed, and for
        # characters that every terminal takes for one column wide.
        certain = self._row_start == 0 or self._line.isascii()
        if certain and self._layout.fits_as_begun and any(piece.style for piece in pieces):
            self._pen.restart_row()
            self._pen.pieces(self._margin)
            self._pen.pieces(_from(pieces, self._row_start))


class FencedCode(CodeBlock):
    """A block of code that ends at a fence."""

    def __init__(self, layout: LineLayout, theme: Theme, fence: Fence) -> None:
        """fence: the one it began with."""
        super().__init__(layout, theme, fence.info)
        self.fence = fence


def _from(pieces: Sequence[Piece], start: int) -> Iterator[Piece]:
    """What comes after so many characters."""
    for text, style in pieces:
        if start < len(text):
            yield Piece(text[max(0, start) :], style)
        start -= len(text)
