"""What was sent before: recalled with Up and Ctrl-R, kept in a file over sessions.

One JSON string a line, the newest last. Several chats may write at once, lines that are damaged
count for nothing, and the file never grows far beyond its cap. A disk that refuses is said once,
and the history goes on in memory.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MOST_ENTRIES = 1000
MOST_BYTES = 4 << 20
_SLACK = MOST_ENTRIES // 4
"""Entries beyond the cap before the file is written anew."""
_LARGEST = 1 << 18
"""Bytes: a longer entry is recalled in its own session alone."""
_TRIES, _PAUSE = 50, 0.01
"""For the lock; seconds between them. A stopped process may hold it, so nobody waits for long."""


class InputHistory:
    """The entries of this session and those before it. `path` None: nothing is read or written."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._entries: list[str] | None = None
        self._lines = 0
        self._said = False

    def entries(self) -> list[str]:
        """All that can be recalled, oldest first; the file is read the first time."""
        if self._entries is None:
            self._entries = [] if self._path is None else self._load(self._path)
        return self._entries

    def add(self, text: str) -> str:
        """Remember a text, unless it is blank or the same again; what went wrong, once, or ""."""
        entries = self.entries()
        if not text.strip() or (entries and entries[-1] == text):
            return ""
        entries.append(text)
        del entries[:-MOST_ENTRIES]
        try:
            if self._path is not None:
                self._store(self._path, text)
        except OSError as error:
            trouble = "" if self._said else f"input history is not kept: {error.strerror}"
            self._said = True
            return trouble
        return ""

    def _load(self, path: Path) -> list[str]:
        try:
            with _opened(path, os.O_RDONLY) as descriptor:
                lines = _newest_lines(descriptor)
        except OSError:
            return []  # none yet; or adding to it will say what is wrong
        self._lines = len(lines)
        return [text for text in map(_entry, lines) if text is not None][-MOST_ENTRIES:]

    def _store(self, path: Path, text: str) -> None:
        line = json.dumps(text, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        if len(line) > _LARGEST:
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for _ in range(_TRIES):
            with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                if self._append(descriptor, path, line):
                    return

    def _append(self, descriptor: int, path: Path, line: bytes) -> bool:
        """Whether the line is in the file: not if another one has taken its place meanwhile."""
        with _locked(descriptor) as is_ours:
            if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return False
            size = os.fstat(descriptor).st_size
            whole = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
            os.write(descriptor, line if whole else b"\n" + line)
            self._lines += 1
            too_long = self._lines > MOST_ENTRIES + _SLACK or size > MOST_BYTES + (MOST_BYTES >> 2)
            if is_ours and too_long:
                self._lines = _write_anew(path, _newest_lines(descriptor))
            # Without the lock the line may have come too late into a file that is written anew.
            return is_ours or os.path.samestat(os.fstat(descriptor), os.stat(path))


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """A regular file of ours alone; anything else (a pipe would block) is refused."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, f"{path} is not a file")
        if stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.getuid():
            os.fchmod(descriptor, 0o600)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(descriptor: int) -> Iterator[bool]:
    """Whether nobody else writes meanwhile.

    Without the lock a line can still be appended: that is one write, and writes do not mix.
    """
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            time.sleep(_PAUSE)
    else:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _newest_lines(descriptor: int) -> list[bytes]:
    """The last lines within both caps."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - MOST_BYTES)
    data = os.pread(descriptor, size - start, start)
    lines = data.split(b"\n")
    whole = lines[1:] if start else lines
    return [line for line in whole if line]


def _entry(line: bytes) -> str | None:
    try:
        text = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return text if isinstance(text, str) and text.strip() else None


def _write_anew(path: Path, lines: list[bytes]) -> int:
    """Replace the file by its newest lines; how many they are."""
    kept = [line for line in lines if _entry(line) is not None][-MOST_ENTRIES:]
    target = path.resolve()  # a link stays a link
    descriptor, name = tempfile.mkstemp(prefix=".history-", dir=target.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(b"".join(line + b"\n" for line in kept))
        os.replace(name, target)
    except OSError:
        os.unlink(name)
        raise
    return len(kept)
