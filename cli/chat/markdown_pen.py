"""The way to the terminal: forward, one style at a time, one write for each piece of a reply.

It knows the row the cursor stands in and no other. A line's end is written when something follows
it, so that the last row can still be drawn again after its text is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from nextok.cli.chat.markdown_style import PLAIN, Style
from nextok.cli.chat.markdown_width import columns

_RESET, _ERASE_TO_END = "\x1b[0m", "\x1b[K"


class Piece(NamedTuple):
    """Text of one style, on one line."""

    text: str
    style: Style = PLAIN


class Pen:
    """Collects what to write until `flush`."""

    def __init__(self, write: Callable[[str], None], *, color: bool) -> None:
        self.color = color
        self.cursor_column = 0
        """Columns filled in the row the cursor stands in."""
        self._write = write
        self._out: list[str] = []
        self._style = PLAIN
        self._line_ended = False

    @property
    def column(self) -> int:
        """The column that the next text begins in."""
        return 0 if self._line_ended else self.cursor_column

    def text(self, text: str, style: Style = PLAIN) -> None:
        """Write on, in the next row if the last one's line has ended."""
        if not text:
            return
        self._end_line()
        if self.color and style != self._style:
            self._restyle(style)
        self._out.append(text)
        self.cursor_column += columns(text)

    def pieces(self, pieces: Iterable[Piece]) -> None:
        """Write them one after the other."""
        for text, style in pieces:
            self.text(text, style)

    def break_line(self) -> None:
        """End the line. Twice in a row: and leave an empty one."""
        self._end_line()
        self._line_ended = True

    def clear_row(self) -> None:
        """Erase the row of the line being written, and go to its first column."""
        self.restart_row()
        self._out.append(_ERASE_TO_END)

    def restart_row(self) -> None:
        """Go to the first column of the row being written, to write over what stands there."""
        self._end_line()
        self._restyle(PLAIN)
        self._out.append("\r")
        self.cursor_column = 0

    def erase_rest(self) -> None:
        """Erase what stands right of the cursor, which must not be at the window's edge."""
        self._restyle(PLAIN)
        self._out.append(_ERASE_TO_END)

    def up(self, rows: int) -> None:
        """Go to the first column, so many rows up. The caller knows that they are in the window."""
        self.restart_row()
        self._out.append(f"\x1b[{rows}A")

    def flush(self) -> None:
        """Hand all of it over in one write."""
        if self._out:
            text = "".join(self._out)
            self._out.clear()
            self._write(text)

    def close(self) -> None:
        """End what is unfinished: plain style, the cursor at a line start."""
        if self.column:
            self.break_line()
        self._end_line()
        self._restyle(PLAIN)
        self.flush()

    def _end_line(self) -> None:
        if self._line_ended:
            self._restyle(PLAIN)
            self._out.append("\n")
            self.cursor_column = 0
            self._line_ended = False

    def _restyle(self, style: Style) -> None:
        if style == self._style:
            return
        if style == PLAIN:
            self._out.append(_RESET)
        else:
            self._out.append(f"\x1b[{style}m" if self._style == PLAIN else f"\x1b[0;{style}m")
        self._style = style
