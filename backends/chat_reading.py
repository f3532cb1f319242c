"""Reads a saved chat line by line, and goes on after a line that is damaged.

Promises to hold no more than one line at a time, to change nothing, and to say which lines could
not be used. What the records mean is for `accept` to know.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from nextok.backends.chat_records import FORMAT, HEADER, decode, lines
from nextok.backends.shown_text import shown
from nextok.generation.errors import UsageError

_MOST_NUMBERS = 1000


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What became of the lines of a file."""

    records: int
    """How many were handed over, without the header."""
    bad_count: int
    bad_lines: tuple[int, ...]
    """The numbers of the first thousand that could not be used; the first line is 1."""
    has_header: bool
    good_spans: tuple[tuple[int, int], ...]
    """Where the good lines are, neighbours as one: offset of the first byte, and of the end."""
    backup: Path | None = None
    """Where the file as it was is kept, once it was rewritten without its bad lines."""


def read_records(path: Path, accept: Callable[[Mapping[str, object]], None]) -> Reading:
    """Hand every record to `accept`, in order. Of a file that others may be writing to.

    accept: raises ValueError for a record it cannot use, which makes the line a bad one.
    Raises UsageError when there is no such file, or a newer version wrote it.
    """
    with open(open_chat(path, os.O_RDONLY), "rb") as stream:
        return read_stream(stream, path, accept)


def read_stream(
    stream: BinaryIO, path: Path, accept: Callable[[Mapping[str, object]], None]
) -> Reading:
    """As `read_records`, of a file that is open; path: only to name it."""
    tally, start = _Tally(), 0
    for number, (end, line) in enumerate(lines(stream), 1):
        if line is None or line.strip():
            tally.count(number, start, end, _use(line, path, accept))
        start = end
    return Reading(
        records=tally.records,
        bad_count=tally.bad_count,
        bad_lines=tuple(tally.bad_lines),
        has_header=tally.has_header,
        good_spans=tuple(tally.spans),
    )


def open_chat(path: Path, flags: int) -> int:
    """A descriptor. Raises UsageError when it is not there, or cannot be opened so."""
    try:
        # Without O_NONBLOCK a pipe in its place would be waited for.
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UsageError(f"there is no chat {shown(path.stem)}: see the list of chats") from error
    except OSError as error:
        raise UsageError(
            f"the chat {shown(path)} cannot be opened ({error.strerror}): see whose file it is"
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{shown(path)} is no file, so no chat: move it away")
    return descriptor


def check_version(record: Mapping[str, object], path: Path) -> None:
    """ValueError for a header that says none, UsageError for one of a version to come."""
    version = record.get("version")
    if type(version) is not int or version < 1:
        raise ValueError("no version")
    if version > FORMAT:
        raise UsageError(
            f"the chat {shown(path.stem)} was made by a newer nextok (format {version}): update it"
        )


@dataclass(kw_only=True)
class _Tally:
    records: int = 0
    bad_count: int = 0
    bad_lines: list[int] = field(default_factory=list)
    has_header: bool = False
    spans: list[tuple[int, int]] = field(default_factory=list)

    def count(self, number: int, start: int, end: int, kind: str | None) -> None:
        """kind: the type of the record, None for a bad line."""
        if kind is None:
            self.bad_count += 1
            if len(self.bad_lines) < _MOST_NUMBERS:
                self.bad_lines.append(number)
            return
        if kind == HEADER:
            self.has_header = True
        else:
            self.records += 1
        if self.spans and self.spans[-1][1] == start:
            start, _ = self.spans.pop()
        self.spans.append((start, end))


def _use(
    line: bytes | None, path: Path, accept: Callable[[Mapping[str, object]], None]
) -> str | None:
    """The type of the record, once it is accepted."""
    if line is None:
        return None
    try:
        record = decode(line)
        if record["type"] == HEADER:
            check_version(record, path)
        else:
            accept(record)
    except ValueError:
        return None
    return str(record["type"])
