"""Blocks of running text: paragraphs and headings."""

from __future__ import annotations

import re

from nextok.cli.chat.markdown_inline import InlineParser
from nextok.cli.chat.markdown_layout import LineLayout
from nextok.cli.chat.markdown_style import PLAIN, Style, Theme

_CLOSING = re.compile(" +#* *$")


class Paragraph:
    """Text whose line breaks are kept: a model writes one where it means one, as in a poem."""

    def __init__(self, layout: LineLayout, theme: Theme, style: Style = PLAIN) -> None:
        self._layout = layout
        self._inline = InlineParser(layout.write, theme, style)
        self._is_in_line = False

    def text(self, text: str) -> None:
        """The next piece of a line."""
        self._is_in_line = True
        self._inline.feed(text)

    def end_line(self) -> None:
        """The line is over; what is open in it goes on in the next one."""
        self._inline.end_line()
        self._layout.end_line()
        self._is_in_line = False

    def close(self) -> None:
        """The block is over, maybe in the middle of a line."""
        if self._is_in_line:
            self._inline.release()
            self._layout.end_line()
            self._is_in_line = False


class Heading:
    """One line. Number signs at its end are no part of it."""

    def __init__(self, layout: LineLayout, theme: Theme, level: int) -> None:
        """level: 1 to 6."""
        self._paragraph = Paragraph(layout, theme, theme.headings[level - 1])
        self._held = " "

    def text(self, text: str) -> None:
        """The next piece of it."""
        self._held += text
        found = _CLOSING.search(self._held)
        end = found.start() if found else len(self._held)
        self._paragraph.text(self._held[:end])
        self._held = self._held[end:]

    def end_line(self) -> None:
        """It is complete."""
        self.close()

    def close(self) -> None:
        """The same, maybe before it was complete."""
        if self._held and "#" not in self._held:
            self._paragraph.text(self._held)
        self._held = ""
        self._paragraph.close()
