"""How a rendered reply looks: styles and glyphs, and nothing about where they go.

Styles keep to what every terminal's own palette has (attributes and the 16 colours), so that they
are readable on dark and on light backgrounds alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

Style: TypeAlias = str
"""Parameters of a select-graphic-rendition sequence, `1;35`; the empty string is plain text."""

PLAIN: Style = ""


def layered(below: Style, above: Style) -> Style:
    """Both together; where they contradict each other, `above` holds."""
    if PLAIN in (below, above) or below == above:
        return below or above
    return f"{below};{above}"


@dataclass(frozen=True, kw_only=True)
class Glyphs:
    """The characters that stand for structure, each one column wide."""

    bullets: tuple[str, ...] = ("•", "◦", "▪")
    undone: str = "☐"
    done: str = "☑"
    quote: str = "│"
    rule: str = "─"
    wall: str = "│"
    crossing: str = "┼"
    cut: str = "…"


@dataclass(frozen=True, kw_only=True)
class Theme:
    """A style for each thing markdown can say."""

    headings: tuple[Style, ...] = ("1;4;35", "1;35", "1", "1;3", "3", "3")
    strong: Style = "1"
    emphasis: Style = "3"
    struck: Style = "9"
    code: Style = "36"
    code_mark: str = ""
    """What stands on both sides of code in a line."""
    code_indent: str = "  "
    link: Style = "4"
    faint: Style = "2"
    marker: Style = "1"
    table_header: Style = "1"
    glyphs: Glyphs = Glyphs()

    def colorless(self) -> Theme:
        """The same where no style is shown: what would be lost then keeps its markers."""
        return replace(self, code_mark="`")


DEFAULT_THEME = Theme()
