"""The rows of a batch's input: plain lines, JSON objects, or a table of comma-separated values.

Promises each row with its line number, and that one which cannot be read spoils no other. Knows
nothing of prompts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from nextok.cli.prompt import decode
from nextok.cli.stdin import read_lines
from nextok.generation.errors import UsageError

STANDARD_INPUT = "-"
_TABLES = {".csv": None, ".tsv": "\t"}
"""What is between the cells; None: what the header shows, a comma, a semicolon or a tab."""
_LONGEST_CELL = 1 << 26
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

Fields: TypeAlias = Mapping[str, object]


class Row(NamedTuple):
    """A row that could be read."""

    number: int
    """Of its first line, from 1."""
    content: str | Fields


class BadRow(NamedTuple):
    """A row that could not."""

    number: int
    why: str


def title(name: str) -> str:
    """What to call the input."""
    return "standard input" if name == STANDARD_INPUT else name


def read_rows(name: str, encoding: str, *, table: bool) -> Iterator[Row | BadRow]:
    """All rows but blank ones, in their order. UsageError when the input itself cannot be read.

    name: a path, or "-". table: whether what does not begin with an object has columns.
    """
    if name == STANDARD_INPUT:
        yield from _rows(read_lines(), name, encoding, table)
        return
    try:
        descriptor = os.open(os.path.expanduser(name), os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {name}: {why}") from error
    try:
        yield from _rows(read_lines(descriptor, name=name), name, encoding, table)
    finally:
        os.close(descriptor)


def _rows(lines: Iterator[bytes], name: str, encoding: str, table: bool) -> Iterator[Row | BadRow]:
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in _TABLES and not table:
        yield from _objects(lines, title(name), encoding)
        return
    data = list(lines)
    is_table = suffix in _TABLES or not _begins_with_object(data)
    if is_table:
        text = decode(b"".join(data), title(name), encoding)
        yield from _table(text, _TABLES.get(suffix))
    else:
        yield from _objects(iter(data), title(name), encoding)


def _begins_with_object(lines: Iterable[bytes]) -> bool:
    first = next((line for line in lines if line.strip()), b"")
    return first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _objects(lines: Iterator[bytes], name: str, encoding: str) -> Iterator[Row | BadRow]:
    """A line is an object if it begins like one."""
    for number, text in _texts(lines, name, encoding):
        if isinstance(text, UsageError):
            yield BadRow(number, str(text))
        elif text.lstrip().startswith("{"):
            yield _object(number, text)
        elif text.strip():
            yield Row(number, text.removesuffix("\n").removesuffix("\r"))


def _texts(
    lines: Iterator[bytes], name: str, encoding: str
) -> Iterator[tuple[int, str | UsageError]]:
    if "\n".encode(encoding) != b"\n":  # UTF-16 and its kind: no byte by itself ends a line
        yield from enumerate(decode(b"".join(lines), name, encoding).split("\n"), 1)
        return
    offset = 0
    for number, line in enumerate(lines, 1):
        if number == 1 and line.startswith(_UTF16_MARKS):
            decode(line, name, encoding)  # raises: not one of its lines would be right
        try:
            yield number, decode(line, "it", encoding, offset=offset, line=number)
        except UsageError as error:
            yield number, error
        offset += len(line)


def _object(number: int, text: str) -> Row | BadRow:
    try:
        fields = json.loads(text, object_pairs_hook=_unique)
    except UsageError as error:
        return BadRow(number, str(error))
    except json.JSONDecodeError as error:
        why = f"{error.msg} at character {error.pos + 1}"
    except RecursionError:
        why = "nested too deep"
    except ValueError as error:
        why = str(error)
    else:
        return Row(number, fields)
    return BadRow(number, f"it begins like a JSON object and is none: {why}")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of these. UsageError when one would take the place of another in silence."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"an object in it has {json.dumps(twice)} twice")
    return fields


def _table(text: str, delimiter: str | None) -> Iterator[Row | BadRow]:
    """The first row names the columns. delimiter: None finds it there."""
    import csv

    from nextok.lab.length_table import delimiter_of
    from nextok.lab.numbers import counted

    csv.field_size_limit(_LONGEST_CELL)
    lines = text.splitlines(keepends=True)
    delimiter = delimiter or delimiter_of(next(filter(str.strip, lines), ""))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield BadRow(number, str(error))
            return
        if cells is None:
            return
        if not cells:
            continue
        if header is None:
            header = _columns(cells)
        elif len(cells) != len(header):
            count = counted(len(cells), "cell")
            yield BadRow(number, f"it has {count}, and the header names {len(header)}")
        else:
            yield Row(number, dict(zip(header, cells, strict=True)))


def _columns(cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(set(names)) < len(names):
        raise UsageError(f"the header names a column twice: {', '.join(names)[:200]}")
    return names
