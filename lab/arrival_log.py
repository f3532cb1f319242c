"""A recorded workload: moments of arrival and lengths from a CSV or JSONL file.

A row that cannot be used is an error that names its line. Knows no machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from nextok.backends.shown_text import shown
from nextok.generation.errors import UsageError
from nextok.lab.length_columns import columns_of, plain
from nextok.lab.length_table import Cell, Row, number_in, rows_of
from nextok.lab.workload import Lengths

_TIMES = ("timestamp", "arrivaltime", "arrival", "arrivedat", "createdat", "time", "date", "ts")
"""What columns of moments are called, in small letters without signs."""
_MOST_TOKENS = 10_000_000
_FRACTION = 6
"""Digits of a second that a moment can have."""


class Recorded(NamedTuple):
    """What a file holds, in the order of arrival."""

    arrivals: Sequence[float]
    """In seconds, of any beginning."""
    lengths: Sequence[Lengths]


def read_arrivals(path: str, column: str | None = None) -> Recorded:
    """A column of moments (seconds, or dates), one of prompt lengths and one of output lengths.

    column: the name of the output lengths'; None finds it. Raises UsageError.
    """
    found: list[tuple[float, Lengths]] = []
    columns: tuple[str, str, str] | None = None
    for row in rows_of(path):
        columns = columns or _columns(path, row, column)
        moment, prompt, output = columns
        lengths = Lengths(_tokens(path, row, prompt, 1), _tokens(path, row, output, 1))
        found.append((_moment(path, row, moment), lengths))
    if len(found) < 2:
        raise UsageError(f"{path} has {len(found)} rows: two requests are the least to replay")
    found.sort(key=lambda pair: pair[0])
    return Recorded([at for at, _ in found], [lengths for _, lengths in found])


def _columns(path: str, first: Row, column: str | None) -> tuple[str, str, str]:
    known = columns_of(path, first, column)
    moments = [name for name in first.cells if plain(name.rpartition(".")[2]) in _TIMES]
    if not moments or known.prompt is None:
        what = "of arrival times (timestamp)" if not moments else "of prompt lengths"
        raise UsageError(f"{path} has no column {what}: a trace to replay needs one")
    return moments[0], known.prompt, known.length


def _tokens(path: str, row: Row, name: str, least: int) -> int:
    number = number_in(row.cells.get(name))
    if number is None or not least <= number <= _MOST_TOKENS or number != int(number):
        raise _bad(path, row, name, f"no whole number of at least {least}")
    return int(number)


def _moment(path: str, row: Row, name: str) -> float:
    """Seconds, whatever form they have."""
    cell = row.cells.get(name)
    number = number_in(cell)
    if number is not None and abs(number) < 1e15:
        return number
    if isinstance(cell, str):
        try:
            return _date(cell).timestamp()
        except (ValueError, OverflowError):
            pass
    raise _bad(path, row, name, "neither seconds nor a date like 2026-01-31 23:59:59")


def _date(text: str) -> datetime:
    """Without a zone it is taken for UTC; more digits than microseconds are left out."""
    whole, point, rest = text.strip().replace("Z", "+00:00").partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :]
    fraction = f".{digits[:_FRACTION].ljust(_FRACTION, '0')}" if point else ""
    date = datetime.fromisoformat(f"{whole}{fraction}{zone}")
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def _bad(path: str, row: Row, name: str, what: str) -> UsageError:
    cell: Cell = row.cells.get(name)
    return UsageError(
        f"{path}, line {row.line}: {shown(name, 40)} is {what} ({shown(cell, 30)}): mend the file"
    )
