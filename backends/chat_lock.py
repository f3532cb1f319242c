"""Who may write a chat: one process at a time.

Promises that the lock is that of the file which now has the name, and that a dead process holds
none: the system drops it.
"""

from __future__ import annotations

import os
from pathlib import Path

from nextok.backends.chat_reading import open_chat
from nextok.backends.draft_file import try_lock
from nextok.backends.shown_text import shown
from nextok.generation.errors import UsageError

_LOCKS = Path("/proc/locks")


class ChatInUse(UsageError):
    """Another process goes on with this chat."""


def open_locked(path: Path) -> int:
    """A descriptor for reading and appending; the lock lasts as long as it is open.

    Raises ChatInUse, and UsageError when it is not there or not to be written.
    """
    while True:
        descriptor = open_chat(path, os.O_RDWR | os.O_APPEND)
        inode = os.fstat(descriptor).st_ino
        if not try_lock(descriptor):
            os.close(descriptor)
            raise in_use(path, inode)
        if _inode(path) == inode:
            return descriptor
        os.close(descriptor)  # its writer has put another file in its place: try that one


def in_use(path: Path, inode: int) -> ChatInUse:
    """The error that says so, and by whom if the system tells."""
    holder = _holder(inode)
    by = "another process" if holder is None else f"process {holder}"
    return ChatInUse(
        f"the chat {shown(path.stem)} is open in {by}:"
        " close it there, take another name, or /branch it there"
    )


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _holder(inode: int) -> int | None:
    """Lines like `1: FLOCK ADVISORY WRITE 4711 08:02:131 0 EOF`; only Linux has them."""
    try:
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
    except (OSError, UnicodeDecodeError):
        return None
    locks = [row for row in rows if len(row) >= 6 and row[1] == "FLOCK"]
    holders = {int(row[4]) for row in locks if row[5].rpartition(":")[2] == str(inode)}
    found = holders.pop() if len(holders) == 1 else 0
    return found if found > 0 else None  # 0 or -1: of another container
