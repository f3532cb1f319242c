"""What a line of markdown can begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """It depends on what follows."""


@dataclass(frozen=True, kw_only=True)
class Blank:
    """Nothing on the line that could be seen."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph's text; `length` characters before it are no part of it."""

    length: int


@dataclass(frozen=True, kw_only=True)
class Indented:
    """A line of code without a fence."""


@dataclass(frozen=True, kw_only=True)
class HeadingMark:
    """A heading's text begins after `length` characters."""

    level: int
    length: int


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A horizontal rule, or the line under a heading."""

    is_underline: bool


@dataclass(frozen=True, kw_only=True)
class Fence:
    """Code begins, and ends at as many of `char` or more."""

    char: str
    count: int
    info: str
    indent: int


@dataclass(frozen=True, kw_only=True)
class QuoteMark:
    """A quote begins, `length` characters long."""

    length: int


@dataclass(frozen=True, kw_only=True)
class ItemMark:
    """A list item begins; its text stands `length` characters on."""

    marker: str
    length: int
    indent: int
    """Columns that lines belonging to it are indented by."""
    done: bool | None
    """For a task: whether it is done."""


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A line that begins like a table's."""

    length: int


Opening: TypeAlias = (
    Blank | Text | Indented | HeadingMark | Rule | Fence | QuoteMark | ItemMark | TableRow
)
