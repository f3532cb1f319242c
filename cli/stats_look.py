"""How lines of the statistics look on a terminal: its width, signs and colours."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from nextok.cli.bars import bar
from nextok.cli.terminal_plot import styled
from nextok.cli.terminal_signs import Signs

NARROWEST, WIDEST = 30, 100
"""Columns of a page."""
BOLD, DIM, RED, GREEN, YELLOW, CYAN = (
    f"\x1b[{code}m" for code in ("1", "2", "31", "32", "33", "36")
)
_UNITS = re.compile("(?<=[0-9]) (?=[a-z%])")
"""A space that no line ends at."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What there is to draw on."""

    columns: int
    signs: Signs
    fine: bool
    """Whether it has characters for parts of a column."""
    color: bool

    @property
    def width(self) -> int:
        """Of the page."""
        return min(WIDEST, max(NARROWEST, self.columns))

    def inked(self, text: str, style: str) -> str:
        """In a style, where there are colours."""
        return styled(text, style if self.color else "")

    def bar(self, value: float, most: float, room: int, style: str) -> str:
        """A lying bar for `value` where one for `most` has all the room."""
        return self.inked(bar(value, most, room, fine=self.fine), style)

    def said(self, text: str, style: str = "", *, indent: int = 2) -> Iterator[str]:
        """Folded between words, but no number from its unit, nor inside one of several parts."""
        first, *others = text.split(" · ")
        if others:
            parts = [part.replace(" ", "\xa0") for part in (first, *others)]
            text = f"\xa0{self.signs.dot} ".join(parts)
        for line in textwrap.wrap(_UNITS.sub("\xa0", text), self.width - indent):
            yield self.inked(" " * indent + line.replace("\xa0", " "), style)


def counted(number: int, noun: str) -> str:
    """1 generation, 2 generations."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
