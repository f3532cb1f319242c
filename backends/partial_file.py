"""A file that grows until it is whole: what it holds is hashed from the first byte on.

Promises that what could be written stays when the disk is full, and that a hash is of exactly the
bytes on disk. Knows no network.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from nextok.backends.file_contents import HEAD_BYTES, what_else
from nextok.backends.hub_errors import CacheNotWritable, DiskFull, WrongBytes
from nextok.backends.hub_files import HubFile
from nextok.backends.shown_text import shown
from nextok.generation.errors import HubError

_BLOCK = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


class PartialFile:
    """Appends; a context manager that closes, and keeps what there is."""

    def __init__(self, path: Path, file: HubFile) -> None:
        """Opens what an earlier run left, or nothing. Raises CacheNotWritable, DiskFull."""
        self._path, self._file = path, file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered, so that an error belongs to the bytes it is about.
            self._stream = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+")
        except OSError as error:
            raise write_error(error, path) from error
        self.size = 0
        self._hash = _new_hash(file)

    def __enter__(self) -> PartialFile:
        return self

    def __exit__(self, *_: object) -> None:
        if os.fstat(self._stream.fileno()).st_size == 0 and self._file.size:
            self._path.unlink(missing_ok=True)
        self._stream.close()

    def take_up(self, report: Callable[[int], None]) -> None:
        """Hash what is there; what cannot be a beginning of the file is dropped.

        report: told the number of bytes read, and may raise to stop.
        """
        head = self._stream.read(4)
        size = os.fstat(self._stream.fileno()).st_size
        if size > self._file.size or not self._may_begin(head):
            self.restart()
            return
        self._stream.seek(0)
        while block := self._stream.read(_BLOCK):
            self._hash.update(block)
            self.size += len(block)
            report(self.size)

    def restart(self) -> None:
        """Forget all of it."""
        self._stream.seek(0)
        self._stream.truncate()
        self.size = 0
        self._hash = _new_hash(self._file)

    def append(self, data: bytes) -> None:
        """Raises WrongBytes when this is no GGUF file or too long, DiskFull, CacheNotWritable."""
        if self.size < 4 and not self._may_begin(self._head() + data[:4]):
            self.restart()
            raise WrongBytes(f"{shown(self._file.path)}: {no_model(data)}")
        if self.size + len(data) > self._file.size:
            raise WrongBytes(
                f"{shown(self._file.path)}: longer than the {self._file.size:,} bytes the hub"
                " lists: try again"
            )
        view = memoryview(data)
        while view:
            try:
                count = self._stream.write(view) or 0
            except OSError as error:
                raise write_error(error, self._path, self._file.size - self.size) from error
            self._hash.update(view[:count])
            self.size += count
            view = view[count:]

    def is_right(self) -> bool:
        """Whether all of it is there and has the hash the hub gave."""
        return self.size == self._file.size and self._hash.hexdigest() == self._file.etag

    def settle(self) -> None:
        """Have the bytes on the disk before anything is called by the file's name."""
        try:
            os.fsync(self._stream.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # some file systems cannot
                raise write_error(error, self._path) from error

    def _head(self) -> bytes:
        return os.pread(self._stream.fileno(), 4, 0)[: self.size]

    def _may_begin(self, head: bytes) -> bool:
        """Whether a GGUF file may begin so; of other files nothing is known."""
        return not self._file.path.lower().endswith(".gguf") or b"GGUF".startswith(head[:4])


def is_whole(path: Path, file: HubFile, report: Callable[[int], None]) -> bool:
    """Whether a path holds exactly this file. Only reads; report: told the bytes read so far."""
    hasher, size = _new_hash(file), 0
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                hasher.update(block)
                size += len(block)
                report(size)
    except OSError:
        return False
    return size == file.size and hasher.hexdigest() == file.etag


def write_error(error: OSError, path: Path, needed: int | None = None) -> HubError:
    """What it means that a file of the cache cannot be written."""
    if error.errno in _FULL:
        need = "" if needed is None else f", {needed:,} bytes are still to come"
        free = free_bytes(path)
        have = "" if free is None else f" ({free:,} bytes free{need})"
        return DiskFull(
            f"the disk is full at {shown(path.parent)}{have}: make room (nextok prune, nextok rm)"
            " and pull again: what came so far is kept"
        )
    if error.errno == errno.EFBIG:
        return DiskFull(
            f"the file system at {shown(path.parent)} takes no file of this size:"
            " set HF_HUB_CACHE to a folder on another one"
        )
    return CacheNotWritable(
        f"{shown(path.parent)} cannot be written ({error.strerror}):"
        " set HF_HUB_CACHE to a folder that can"
    )


def free_bytes(path: Path) -> int | None:
    """On the disk that the path is on, or will be; None when it does not say.

    None too where nothing can be written: "0 bytes free" would be true, and not the reason.
    """
    for folder in (path, *path.parents):
        try:
            disk = os.statvfs(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        writable = disk.f_blocks and not disk.f_flag & os.ST_RDONLY
        return disk.f_bavail * disk.f_frsize if writable else None
    return None


def no_model(data: bytes) -> str:
    """What came instead of a GGUF file, from its first bytes."""
    what = what_else(data[:HEAD_BYTES]).partition(": ")[0]
    if what.startswith("a web page"):
        return f"what comes is {what}: log in to the network (or its proxy), and pull again"
    return f"what comes is {what}: check HF_ENDPOINT, or choose another repository"


def _new_hash(file: HubFile) -> hashlib._Hash:
    """sha256, or for the small files that git keeps git's own."""
    if file.sha256 is not None:
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
