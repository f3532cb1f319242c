"""Rows of a CSV or JSONL file, each with the number of the line it begins in.

Promises names and values as they stand there; knows nothing of what a column means. A row of JSON
is flattened: what stands inside an object is named `outer.inner`, and lists are left out.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from nextok.generation.errors import UsageError

Cell: TypeAlias = str | float | bool | None

_DELIMITERS = ",;\t"
_STDIN = "/dev/stdin"
"""What `-` means."""
_DEEPEST = 8
"""Objects inside objects, of which names are still made."""
_LONGEST_LINE = 1 << 26
"""Bytes: whole answers stand in the lines of some logs."""


class Row(NamedTuple):
    """One record of a table."""

    line: int
    """From 1."""
    cells: Mapping[str, Cell]
    """A cell that is missing is not among them."""


def rows_of(path: str) -> Iterator[Row]:
    """Every record. The first line of a CSV names its columns, unless it is all numbers: then they
    are called 1, 2, ….

    Raises UsageError for a file that cannot be read, is empty, or is no table, with the line.
    """
    try:
        with open(_STDIN if path == "-" else path, "rb") as file:
            lines = _text(path, iter(lambda: file.readline(_LONGEST_LINE), b""))
            yield from _rows(path, lines)
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {path}: {reason}") from error


def number_in(cell: Cell) -> float | None:
    """The number that a cell holds, perhaps NaN; None for anything else."""
    if isinstance(cell, bool) or cell is None:
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def _text(path: str, lines: Iterator[bytes]) -> Iterator[str]:
    for number, raw in enumerate(lines, 1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            yield raw.decode()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path}, line {number}: no UTF-8: convert the file (iconv -t UTF-8)"
            ) from error


def _rows(path: str, lines: Iterator[str]) -> Iterator[Row]:
    blank = 0
    for first in lines:
        if first.strip():
            break
        blank += 1
    else:
        raise UsageError(f"{path} is empty: a log has a row for each answer")
    everything = itertools.chain([first], lines)
    start = first.lstrip()[0]
    if start == "[":
        raise UsageError(
            f"{path} begins with a list: one object a line can be read (jq -c '.[]' {path})"
        )
    if start == "{":
        yield from _objects(path, everything, blank)
    else:
        yield from _records(path, everything, blank, delimiter_of(first))


def _objects(path: str, lines: Iterator[str], before: int) -> Iterator[Row]:
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise UsageError(f"{path}, line {number}: no JSON object, unlike the first line")
        yield Row(number, dict(_flat(value)))


def _flat(value: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[
    tuple[str, Cell]
]:  # fmt: skip
    for key, inner in value.items():
        if isinstance(inner, dict) and depth < _DEEPEST:
            yield from _flat(inner, f"{prefix}{key}.", depth + 1)
        elif inner is None or isinstance(inner, (str, int, float)):
            yield prefix + key, inner


def _is_blank(record: Sequence[str]) -> bool:
    """A line with nothing in it. An empty cell between quotes, or beside others, is a cell."""
    return not record or (len(record) == 1 and record[0].isspace())


def delimiter_of(header: str) -> str:
    """What is between the cells of a table, by its first line."""
    return max(_DELIMITERS, key=header.count)


def _records(path: str, lines: Iterator[str], before: int, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter)
    names: Sequence[str] = ()
    begins = before + 1
    try:
        for record in reader:
            if not names and all(number_in(cell) is not None for cell in record):
                names = [str(place) for place in range(1, len(record) + 1)]
            if names and not _is_blank(record):
                yield Row(begins, dict(zip(names, record, strict=False)))
            names = names or [cell.strip() for cell in record]
            begins = before + reader.line_num + 1
    except csv.Error as error:
        raise UsageError(f"{path}, line {begins}: no row of a table: {error}") from error
