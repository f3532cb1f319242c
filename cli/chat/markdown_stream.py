"""A reply's markdown, shown on a terminal while it is being made."""

from __future__ import annotations

from collections.abc import Callable

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
        self._write = write
        self._column = 0

    @property
    def at_line_start(self) -> bool:
        """Whether the cursor stands in the first column of a line with nothing on it."""
        return self._column == 0

    @property
    def column(self) -> int:
        """Columns already filled in the line the cursor stands in."""
        return self._column

    def feed(self, text: str) -> None:
        """Show the next piece, of any size, at once."""
        self._write(text)
        self._column = len((" " * self._column + text).rpartition("\n")[2])

    def close(self) -> None:
        """The reply is over, or was cut off: leave styles reset and the cursor at a line start."""
        if self._column:
            self.feed("\n")
