"""Which beginnings of prompts there have been: their hashes, and nothing of what they say.

Promises never to fail, and to stay small: what cannot be written is merely not remembered, and
the older half goes when there are too many. Any number of processes may add at once.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from nextok.backends.draft_file import Draft, private_folder

_MOST_BYTES = 1 << 18
"""32,768 hashes: of four million tokens in blocks of 128."""
_FLAGS = os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_RDWR


class SeenBlocks:
    """A file of hashes of 64 bits, in the order in which they were first seen."""

    def __init__(self, path: Path) -> None:
        """path: made, and its folder, when there is something to write."""
        self._path = path

    def leading(self, hashes: Sequence[int]) -> int:
        """How many of the first ones have been seen."""
        known = frozenset(self._read())
        for index, one in enumerate(hashes):
            if one not in known:
                return index
        return len(hashes)

    def size_bytes(self) -> int:
        """Of the file."""
        with suppress(OSError):
            return self._path.lstat().st_size
        return 0

    def add(self, hashes: Sequence[int]) -> None:
        """Remember some that have not been seen."""
        if hashes:
            with suppress(OSError):
                self._append(array("Q", hashes))

    def _read(self) -> array[int]:
        """None, if it is not what `add` writes."""
        with suppress(OSError), open(self._path, "rb", opener=_open_at_once) as stream:
            return _hashes(stream.fileno())
        return array("Q")

    def _append(self, hashes: array[int]) -> None:
        private_folder(self._path.parent)
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            size, data = os.fstat(descriptor).st_size, hashes.tobytes()
            if size % hashes.itemsize or size + len(data) > _MOST_BYTES:
                self._begin_anew(_hashes(descriptor) + hashes)
            else:
                os.write(descriptor, data)  # in one piece: others append, too
        finally:
            os.close(descriptor)

    def _begin_anew(self, hashes: array[int]) -> None:
        """With the newer half; what others add at this moment is lost."""
        newest = hashes[-(_MOST_BYTES // hashes.itemsize // 2) :]
        with Draft(self._path) as draft:
            draft.write(newest.tobytes())
            draft.settle()


def _hashes(descriptor: int) -> array[int]:
    """What is in a file that was begun and appended to by nobody else."""
    hashes = array("Q")
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size % hashes.itemsize == 0:
        hashes.frombytes(os.pread(descriptor, min(status.st_size, _MOST_BYTES), 0))
    return hashes


def _open_at_once(path: str, _flags: int) -> int:
    """Not through a link, and without waiting at a pipe."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
