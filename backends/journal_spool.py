"""Rows of who had no time to open the journal: lines beside it, taken in by the next to open it.

While the engine maps a large file, nothing else in the process can map anything until it is done,
and SQLite maps. A line can be appended at any time. Promises that a row is taken in once at most.
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


def leave_line(journal: Path, figures: Mapping[str, object]) -> None:
    """Append what is known of a generation. Never raises.

    figures: fields of Row; `asked`, too, where the text of the prompt is to be kept.
    """
    with suppress(OSError, ValueError):
        line = json.dumps(figures).encode() + b"\n"
        journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = _pending(journal)
        for _ in range(2):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                if os.fstat(descriptor).st_nlink:  # or somebody has just taken it in
                    os.write(descriptor, line)
                    return
            finally:
                os.close(descriptor)


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
        asked = figures.pop("asked", None)
        text = None if asked is None else LoggedText(prompt=asked, answer="")
        return [Row(**figures, text=text)]
    except (ValueError, TypeError, AttributeError):
        return []
