"""Quotes and list items around a line: which of them go on in it, and what stands at its left."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from nextok.cli.chat.markdown_lines import CODE_INDENT, is_item
from nextok.cli.chat.markdown_marks import ItemMark
from nextok.cli.chat.markdown_pen import Piece
from nextok.cli.chat.markdown_style import Theme
from nextok.cli.chat.markdown_width import columns

_DEEPEST = 30
"""Containers in each other; marks of more are text."""

_LEAST_NESTING = 2
"""Columns that an item is indented by to be taken for one of another item's."""


class NoMatch(Enum):
    """Why a container does not go on: it ends, or more of the line is needed to tell."""

    ENDS = "ends"
    UNKNOWN = "unknown"


class Quote:
    """A block quote."""

    def __init__(self, theme: Theme) -> None:
        self.first = self.rest = Piece(f"{theme.glyphs.quote} ", theme.faint)

    def match(self, head: str, *, whole: bool) -> int | NoMatch:
        """How many characters of the head are its mark."""
        body = head.lstrip(" ")
        indent = len(head) - len(body)
        if not whole and body in ("", ">") and indent < CODE_INDENT:
            return NoMatch.UNKNOWN
        if not body.startswith(">") or indent >= CODE_INDENT:
            return NoMatch.ENDS
        return indent + (2 if body[1:2] == " " else 1)


class Item:
    """A list item."""

    def __init__(self, mark: ItemMark, bullet: str, theme: Theme) -> None:
        """bullet: what a marker that is no number is shown as."""
        self.indent = mark.indent
        is_number = mark.marker[0].isdigit()
        self.is_bullet = not is_number
        shown = mark.marker if is_number else bullet
        if mark.done is not None:
            box = theme.glyphs.done if mark.done else theme.glyphs.undone
            shown = f"{shown} {box}" if is_number else box
        self.first = Piece(f"{shown} ", theme.marker)
        self.rest = Piece(" " * columns(self.first.text))

    def match(self, head: str, *, whole: bool) -> int | NoMatch:
        """How many characters of the head are its indentation."""
        indent = len(head) - len(head.lstrip(" "))
        if indent >= self.indent or (whole and indent == len(head)):
            return min(indent, self.indent)
        if indent == len(head):
            return NoMatch.UNKNOWN
        if indent < _LEAST_NESTING:
            return NoMatch.ENDS
        nested = is_item(head, whole=whole)
        if not nested:
            return NoMatch.UNKNOWN if nested is None else NoMatch.ENDS
        self.indent = indent  # and so it is for what is nested in that one
        return indent


Container = Quote | Item


class Nest:
    """The containers open, outermost first. The margin of every line."""

    def __init__(self, theme: Theme) -> None:
        self.open: tuple[Container, ...] = ()
        self._theme = theme
        self._shown: set[Container] = set()
        """Those whose bullet has been written."""

    @property
    def has_room(self) -> bool:
        """Whether another one may be opened."""
        return len(self.open) < _DEEPEST

    def enter(self, mark: ItemMark | None) -> None:
        """Open a list item, or a quote."""
        if mark is None:
            self.open += (Quote(self._theme),)
            return
        bullets = self._theme.glyphs.bullets
        depth = sum(isinstance(one, Item) and one.is_bullet for one in self.open)
        self.open += (Item(mark, bullets[depth % len(bullets)], self._theme),)

    def cut(self, count: int) -> None:
        """Close all but the outermost `count`."""
        self.open = self.open[:count]
        self._shown.intersection_update(self.open)

    @property
    def has_bullet_to_show(self) -> bool:
        """Whether there is a list item that no line has shown yet."""
        return any(isinstance(one, Item) and one not in self._shown for one in self.open)

    def next_line(self, width: int) -> Sequence[Piece]:
        """What begins the next line. In a narrow window, indentation gives way to text."""
        pieces = [(one.rest if one in self._shown else one.first) for one in self.open]
        new = [one not in self._shown and isinstance(one, Item) for one in self.open]
        self._shown.update(self.open)
        excess = sum(columns(piece.text) for piece in pieces) - width // 2
        kept = []
        for piece, is_new in zip(pieces, new, strict=True):
            if excess > 0 and not is_new:
                excess -= columns(piece.text)
            else:
                kept.append(piece)
        return kept

    def gap(self, before: Sequence[Container], *, blank: bool) -> Sequence[Piece] | None:
        """What an empty line between the block in `before` and the next one shows; None: no line.

        blank: whether the source has an empty line there. It counts in lists alone: elsewhere
        blocks are always apart.
        """
        common = 0
        for one, other in zip(before, self.open, strict=False):
            if one is not other:
                break
            common += 1
        after, left = self.open[common:], before[common:]
        siblings = bool(after and left) and isinstance(after[0], Item) and isinstance(left[0], Item)
        in_item = common > 0 and isinstance(self.open[common - 1], Item)
        if (siblings or in_item) and not blank:
            return None
        return [one.rest for one in self.open[:common]]
