"""Which column of a log is what, by the names that programs give them.

Knows names only, and of the values no more than whether the first one is a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nextok.backends.shown_text import shown
from nextok.generation.errors import UsageError
from nextok.lab.length_table import Row, number_in

LENGTHS = (
    "completiontokens", "generatedtokens", "outputtokens", "numoutputtokens", "responsetokens",
    "answertokens", "tokensgenerated", "numgeneratedtokens", "gentokens", "evalcount",
    "outputlength", "outputlen", "responselength", "responselen", "tokens", "length", "len",
)  # fmt: skip
"""What columns of lengths are called, in small letters without signs; an earlier one is taken."""
PROMPTS = (
    "prompttokens", "contexttokens", "inputtokens", "numinputtokens", "numprompttokens",
    "promptevalcount", "promptlength", "promptlen", "inputlength", "inputlen",
)  # fmt: skip
ENDINGS = ("finishreason", "finish", "stopreason", "donereason")
_MOST_LISTED = 6


class Columns(NamedTuple):
    """Their names as the file has them."""

    length: str
    prompt: str | None
    ending: str | None


def columns_of(path: str, first: Row, wanted: str | None) -> Columns:
    """Find them by the first row. wanted: the name of the lengths' column; None finds it.

    Raises UsageError that lists the columns.
    """
    names = list(first.cells)
    length = _guessed(path, first) if wanted is None else _called(path, names, wanted)
    return Columns(length, _known(names, PROMPTS), _known(names, ENDINGS))


def plain(name: str) -> str:
    """Its small letters and digits: what does not change from one program to the next."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _called(path: str, names: Sequence[str], wanted: str) -> str:
    for name in names:
        if name.casefold() == wanted.casefold():
            return name
    raise UsageError(f"{path} has no column {wanted}: it has {_listed(names)}")


def _guessed(path: str, first: Row) -> str:
    known = _known(list(first.cells), LENGTHS)
    if known is not None:
        return known
    numeric = [name for name, cell in first.cells.items() if number_in(cell) is not None]
    if not numeric:
        raise UsageError(
            f"{path} has no numeric column: line {first.line} has no number in "
            f"{_listed(list(first.cells))}"
        )
    if len(numeric) > 1:
        raise UsageError(
            f"{path} has several numeric columns: say with --column which has the lengths: "
            f"{_listed(numeric)}"
        )
    return numeric[0]


def _known(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The column with the earliest of these names; of `usage.tokens`, it is the last part."""
    found = {plain(name.rpartition(".")[2]): name for name in reversed(names)}
    return next((found[one] for one in known if one in found), None)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(shown(name, 40) for name in names[:_MOST_LISTED]) + more
