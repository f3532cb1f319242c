"""Lengths of answers from a log file, whichever program wrote it.

Promises that every value it takes is a length: a whole number of tokens. One that is not is an
error which names its line; no row is left out in silence.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nextok.backends.shown_text import shown
from nextok.generation.errors import UsageError
from nextok.generation.finish import FinishReason
from nextok.lab.length_columns import Columns, columns_of, plain
from nextok.lab.length_data import CUT, Answer, LengthData, checked
from nextok.lab.length_table import Cell, Row, number_in, rows_of

_CUT = frozenset(
    (*CUT, "maxtokens", "maxlength", "modellength", "limit", "cancelled", "canceled", "aborted")
)
"""How programs call an ending from outside, in small letters without signs."""
_MOST_TOKENS = 10_000_000
"""No answer is as long: a larger number is a moment in time, or an amount of something else."""
_MOST_LINES = 5
_MISSING = "\0"
"""Stands for a cell that is not there."""


def read_log(path: str, column: str | None = None) -> LengthData:
    """The lengths in a CSV or JSONL file, with what else it says of each answer.

    column: the name of the lengths' column; None finds it. Raises UsageError.
    """
    rows = rows_of(path)
    first = next(rows, None)
    if first is None:
        raise UsageError(f"{path} has one line, names of columns, and no row below it")
    columns = columns_of(path, first, column)
    reading = _Reading(columns)
    answers = tuple(reading.answers(itertools.chain([first], rows)))
    if reading.bad:
        raise UsageError(f"{path}: {_complaint(columns.length, reading.bad)}")
    return checked(
        LengthData(source=path, answers=answers, column=columns.length, failed=reading.failed)
    )


class _Reading:
    """One walk over the rows."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.bad: list[tuple[int, str]] = []
        """Lines without a length, and what they have in its place."""
        self.failed = 0

    def answers(self, rows: Iterable[Row]) -> Iterator[Answer]:
        for line, cells in rows:
            ending = plain(str(_at(cells, self._columns.ending) or ""))
            if ending == FinishReason.ERROR:
                self.failed += 1
                continue
            cell = cells.get(self._columns.length, _MISSING)
            tokens = _whole(cell)
            if tokens is None:
                self.bad.append((line, _wrong(cell)))
            else:
                prompt = _whole(_at(cells, self._columns.prompt))
                yield Answer(tokens, ending in _CUT, prompt, line)


def _at(cells: Mapping[str, Cell], column: str | None) -> Cell:
    return None if column is None else cells.get(column)


def _whole(cell: Cell) -> int | None:
    number = number_in(cell)
    if number is None or not 0 <= number <= _MOST_TOKENS or number != int(number):
        return None
    return int(number)


def _wrong(cell: Cell) -> str:
    """What a cell is that holds no length."""
    if cell == _MISSING:
        return "missing"
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return "empty"
    number = number_in(cell)
    if number is None:
        return f"no number ({shown(cell if isinstance(cell, str) else json.dumps(cell), 20)})"
    if math.isnan(number):
        return "not a number (NaN)"
    if number < 0:
        return f"negative ({number:g})"
    return f"too large ({number:g})" if number > _MOST_TOKENS else f"no whole number ({number:g})"


def _complaint(column: str, bad: Sequence[tuple[int, str]]) -> str:
    """One line about all of them."""
    line, what = bad[0]
    others = [str(number) for number, _ in bad[1:]]
    more = f" and {len(others) - _MOST_LINES:,} more" if len(others) > _MOST_LINES else ""
    also = f" (as bad: line {', '.join(others[:_MOST_LINES])}{more})" if others else ""
    return (
        f"{shown(column)} is {what} in line {line}{also}: "
        "mend the file, a length is a whole number of tokens"
    )
