"""Rows of who could not wait for the journal: lines beside it, taken in by the next to open it.

While the engine maps a large file, nothing else in the process can map anything until it is done,
and SQLite maps; and others may keep the journal locked. A line can be appended at any time.
Promises that a row is taken in once at most.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nextok.backends.journal_row import Row

PENDING = ".pending"
_MOST_BYTES = 4 << 20
"""Of lines: that many rows are not waiting for a moment any more."""
_TRIES = 20
"""Each but the last ends because somebody took the lines in at that moment."""
_TEXTS = ("asked", "answer", "reasoning")


def leave_row(journal: Path, row: Row) -> bool:
    """Append all of a row; whether that could be. Never raises."""
    figures = row._asdict()
    if figures.pop("text") is not None:
        figures |= zip(_TEXTS, row.text or (), strict=True)
    return leave_line(journal, figures)


def leave_line(journal: Path, figures: Mapping[str, object]) -> bool:
    """Append what is known of a generation; whether that could be. Never raises.

    figures: fields of Row; `asked`, too, where the text of the prompt is to be kept, and with it
    perhaps `answer` and `reasoning`.
    """
    with suppress(OSError, ValueError):
        line = json.dumps(figures).encode() + b"\n"
        journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = _pending(journal)
        for _ in range(_TRIES):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                status = os.fstat(descriptor)
                if status.st_nlink:  # or somebody has just taken it in
                    fits = status.st_size + len(line) <= _MOST_BYTES
                    return fits and os.write(descriptor, line) == len(line)
            finally:
                os.close(descriptor)
    return False


def has_lines(journal: Path) -> bool:
    """Whether something waits there."""
    return _pending(journal).exists()


def taken_lines(journal: Path) -> list[Row]:
    """The rows that wait there, taken away. Raises OSError."""
    path = _pending(journal)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with open(descriptor, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until all who have it open have written
        if not os.fstat(file.fileno()).st_nlink:
            return []
        os.unlink(path)
        lines = file.read().splitlines()
    return [row for line in lines for row in _read(line)]


def _pending(journal: Path) -> Path:
    return journal.with_name(journal.name + PENDING)


def _read(line: bytes) -> list[Row]:
    """One row, or none: a full disk may have cut it."""
    from nextok.backends.journal_row import LoggedText, Row

    try:
        figures = json.loads(line)
        asked, answer, reasoning = (figures.pop(name, None) for name in _TEXTS)
        text = None
        if asked is not None:
            text = LoggedText(prompt=asked, answer=answer or "", reasoning=reasoning or "")
        return [Row(**figures, text=text)]
    except (ValueError, TypeError, AttributeError):
        return []
