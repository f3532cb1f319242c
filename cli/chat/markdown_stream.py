"""A reply's markdown, shown on a terminal while it is being made.

Text goes on the screen as it comes and stays there: what is written is never laid out again but for
the row the cursor stands in and a table that is still being written. Held back is only what may
still become something else: the first characters of a line, markers, a link in the making.
"""

from __future__ import annotations

from collections.abc import Callable

from nextok.cli.chat.markdown_blocks import Blocks
from nextok.cli.chat.markdown_pen import Pen
from nextok.cli.chat.markdown_reader import LineReader
from nextok.cli.chat.markdown_style import DEFAULT_THEME, Theme


class MarkdownStream:
    """A `ReplyStream` that shows what the markdown means."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        width: Callable[[], int],
        height: Callable[[], int],
        color: bool,
        theme: Theme = DEFAULT_THEME,
    ) -> None:
        """write: takes text to the terminal, at once.

        width, height: the window's columns and rows as they are now; asked again and again.
        color: whether text is styled at all; without it structure alone is shown.
        """
        self._pen = Pen(write, color=color)
        theme = theme if color else theme.colorless()
        self._reader = LineReader(Blocks(self._pen, theme, width, height))

    @property
    def at_line_start(self) -> bool:
        """Whether the cursor stands in the first column of a line with nothing on it."""
        return self._pen.cursor_column == 0

    @property
    def column(self) -> int:
        """Columns already filled in the line the cursor stands in."""
        return self._pen.cursor_column

    def feed(self, text: str) -> None:
        """Show the next piece, of any size, at once."""
        for index, part in enumerate(text.split("\n")):
            if index:
                self._reader.end_line()
            self._reader.text(part)
        self._pen.flush()

    def close(self) -> None:
        """The reply is over, or was cut off: leave styles reset and the cursor at a line start."""
        self._reader.close()
        self._pen.close()
