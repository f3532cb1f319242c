"""The block that is being written, and the empty lines between blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nextok.cli.chat.markdown_code import CodeBlock, FencedCode
from nextok.cli.chat.markdown_columns import Align
from nextok.cli.chat.markdown_layout import LineLayout
from nextok.cli.chat.markdown_marks import Fence
from nextok.cli.chat.markdown_nest import Container, Nest
from nextok.cli.chat.markdown_pen import Pen
from nextok.cli.chat.markdown_style import Theme
from nextok.cli.chat.markdown_table import Preview, Table
from nextok.cli.chat.markdown_text import Heading, Paragraph


class Block(Protocol):
    """What takes the text of its lines."""

    def text(self, text: str) -> None:
        """The next piece of a line."""

    def end_line(self) -> None:
        """The line is over."""

    def close(self) -> None:
        """The block is over, maybe in the middle of a line."""


class Blocks:
    """Opens one block after the other, in the containers that are open then."""

    def __init__(
        self, pen: Pen, theme: Theme, width: Callable[[], int], height: Callable[[], int]
    ) -> None:
        self.nest = Nest(theme)
        self.block: Block | None = None
        self.header: Preview | None = None
        """A line that is a table's header if the next one says so."""
        self.empty_lines = 0
        """In the source, since the last block."""
        self._layout = LineLayout(pen, width, self.nest)
        self._theme = theme
        self._height = height
        self._previous: Sequence[Container] | None = None
        """The containers of the last block."""

    @property
    def fenced(self) -> FencedCode | None:
        """The code between fences that is open."""
        return self.block if isinstance(self.block, FencedCode) else None

    def close(self) -> None:
        """End the block that is open."""
        if self.block is not None:
            self.block.close()
        self.block = None

    def paragraph(self) -> Paragraph:
        """The paragraph that is open, or a new one."""
        if isinstance(self.block, Paragraph):
            return self.block
        self._begin()
        self.block = made = Paragraph(self._layout, self._theme)
        return made

    def heading(self, level: int) -> Heading:
        """A new heading."""
        self._begin()
        self.block = made = Heading(self._layout, self._theme, level)
        return made

    def fenced_code(self, fence: Fence) -> None:
        """New code up to such a fence."""
        self._begin()
        self.block = FencedCode(self._layout, self._theme, fence)

    def indented_code(self) -> CodeBlock:
        """The code without a fence that is open, the empty lines in it done; or a new one."""
        if isinstance(self.block, CodeBlock):
            for _ in range(self.empty_lines):
                self.block.end_line()
            self.empty_lines = 0
            return self.block
        self._begin()
        self.block = made = CodeBlock(self._layout, self._theme, "")
        return made

    def rule(self, *, is_underline: bool) -> None:
        """A line across the window; an underline stands right below the text."""
        if is_underline:
            self.close()
        else:
            self._begin()
        layout = self._layout
        layout.begin()
        room = layout.width() - layout.pen.column
        layout.pen.text(self._theme.glyphs.rule * room, self._theme.faint)
        layout.end_line()

    def table_row(self) -> Block:
        """What takes a line that looks like one: the table, or what may become one's header.

        That may be the last line of a paragraph that is open.
        """
        if isinstance(self.block, Table):
            return self.block
        if not isinstance(self.block, Paragraph):
            self._begin()
        self.header = Preview(self._layout, self._theme)
        return self.header

    def end_header(self, aligns: Sequence[Align] | None) -> None:
        """The header is a table's, or a line of text if there are no alignments."""
        if self.header is None:
            return
        source, self.header = self.header.take(), None
        if aligns is not None:
            self._table(source, aligns)
            return
        if self.block is None:
            self.block = Paragraph(self._layout, self._theme)
        self.block.text(source)
        self.block.end_line()

    def empty_line(self) -> None:
        """Nothing on a line: it ends what is open, but for code."""
        if self.nest.has_bullet_to_show:
            self._begin()
            self._layout.end_line()
            return
        if not isinstance(self.block, CodeBlock):
            self.close()
        self.empty_lines += 1

    def _table(self, header: str, aligns: Sequence[Align]) -> None:
        if self.block is not None:
            self.close()
            if self.nest.gap(self.nest.open, blank=False) is not None:
                self._layout.end_line()
        self._layout.begin()
        self.block = Table(self._layout, self._theme, header, aligns, self._height)

    def _begin(self) -> None:
        self.close()
        if self._previous is not None:
            gap = self.nest.gap(self._previous, blank=self.empty_lines > 0)
            if gap is not None:
                pen = self._layout.pen
                pen.pieces(gap)
                pen.break_line()
        self._previous = self.nest.open
        self.empty_lines = 0
