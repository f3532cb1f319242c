"""A table from its source: the lines that make one, its cells, the row that is being written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nextok.cli.chat.markdown_columns import Align
from nextok.cli.chat.markdown_grid import Grid
from nextok.cli.chat.markdown_inline import InlineParser
from nextok.cli.chat.markdown_layout import LineLayout
from nextok.cli.chat.markdown_pen import Piece
from nextok.cli.chat.markdown_style import PLAIN, Style, Theme
from nextok.cli.chat.markdown_width import fitting

_DELIMITER = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*\|?")
_DELIMITER_SO_FAR = re.compile(r"[ |:-]*")


def split_row(line: str) -> list[str]:
    """The sources of a row's cells. A wall with a backslash before it is text."""
    line = line.strip().removeprefix("|")
    cells, start = [], 0
    for at, char in enumerate(line):
        if char == "|" and (at == 0 or line[at - 1] != "\\"):
            cells.append(line[start:at])
            start = at + 1
    if line[start:].strip():
        cells.append(line[start:])
    return [cell.strip().replace("\\|", "|") for cell in cells]


def alignments(line: str, count: int) -> list[Align] | None:
    """What the line below a header of so many cells says; None if it makes no table of it."""
    if not _DELIMITER.fullmatch(line.strip()):
        return None
    found = [_alignment(cell) for cell in split_row(line)]
    return found if len(found) == count else None


def may_be_delimiter(head: str) -> bool:
    """Whether a line that begins so can be the one below a header."""
    return _DELIMITER_SO_FAR.fullmatch(head) is not None


def _alignment(cell: str) -> Align:
    if cell.endswith(":"):
        return Align.CENTER if cell.startswith(":") else Align.RIGHT
    return Align.LEFT


class Preview:
    """A row being written: faint, cut at the window's edge, and erased when it is complete."""

    def __init__(self, layout: LineLayout, theme: Theme) -> None:
        self.source = ""
        self.was_folded = False
        """Whether it could not be erased: a narrower window had folded it."""
        self._layout = layout
        self._style = theme.faint
        self._is_cut = False

    def text(self, text: str) -> None:
        """The next piece of the row."""
        self._layout.begin()
        self.source += text
        if not self._is_cut:
            pen = self._layout.pen
            part = fitting(text, self._layout.width() - 1 - pen.column)
            self._is_cut = len(part) < len(text)
            pen.text(part, self._style)

    def end_line(self) -> None:
        """The row is complete, and is left until `take`."""

    def close(self) -> None:
        """The same."""

    def take(self) -> str:
        """Erase it; its source."""
        self.was_folded = self._layout.pen.column > self._layout.width()
        if self.was_folded:
            self._layout.end_line()
            self._layout.begin()
        else:
            self._layout.clear()
        source, self.source, self._is_cut = self.source, "", False
        return source


class Table:
    """Begun where the layout's line has nothing on it but its margin."""

    def __init__(
        self,
        layout: LineLayout,
        theme: Theme,
        header: str,
        aligns: Sequence[Align],
        height: Callable[[], int],
    ) -> None:
        """header: its source. height: rows that the window has now."""
        self._theme = theme
        self._preview = Preview(layout, theme)
        names = [self._cell(source, theme.table_header) for source in split_row(header)]
        self._grid = Grid(layout, theme.glyphs, theme.faint, names, aligns, height)

    def text(self, text: str) -> None:
        """The next piece of a row."""
        self._preview.text(text)

    def end_line(self) -> None:
        """The row is complete."""
        sources = split_row(self._preview.take())
        if self._preview.was_folded:
            self._grid.freeze()
        count = self._grid.count
        if len(sources) > count:  # nothing is lost of a row with too many cells
            sources = [*sources[: count - 1], " | ".join(sources[count - 1 :])]
        cells = [self._cell(source, PLAIN) for source in sources]
        self._grid.row(cells + [[] for _ in range(count - len(cells))])

    def close(self) -> None:
        """The table is over, maybe in the middle of a row."""
        if self._preview.source:
            self.end_line()
        self._grid.close()

    def _cell(self, source: str, style: Style) -> list[Piece]:
        cell: list[Piece] = []
        parser = InlineParser(lambda *piece: cell.append(Piece(*piece)), self._theme, style)
        parser.feed(source)
        parser.release()
        return cell
