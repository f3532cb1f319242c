"""A saved chat: records that are appended to a file, each as one line.

Promises that the file can be read after whatever ends the process or fills the disk, all but the
last line whole; that nobody else writes to it meanwhile; that a chat nothing was said in leaves
none. Knows nothing of what the records mean.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from nextok.backends.chat_lock import ChatInUse, open_locked
from nextok.backends.chat_mending import mended
from nextok.backends.chat_names import move, taken, unwritable
from nextok.backends.chat_reading import Reading, check_version, read_records, read_stream
from nextok.backends.chat_records import HEADER, MOST_LINE_BYTES, decode, encode, header
from nextok.backends.draft_file import private_folder, try_lock, write_all
from nextok.generation.errors import OutputError, UsageError

__all__ = ["ChatFile", "ChatInUse", "NameTaken", "Reading", "read_records"]


class NameTaken(OutputError):
    """Somebody else has begun a chat of that name at the same moment."""


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_BLOCK = 1 << 12
_NOTHING = Reading(records=0, bad_count=0, bad_lines=(), has_header=True, good_spans=())


class ChatFile:
    """A chat that is being written. A context manager that closes."""

    def __init__(
        self, path: Path, descriptor: int | None, clock: Callable[[], float] = time.time
    ) -> None:
        """descriptor: of the file, locked; None before it exists. See `create` and `open`."""
        self.path = path
        self._descriptor = descriptor
        self._clock = clock

    @classmethod
    def create(cls, path: Path, clock: Callable[[], float] = time.time) -> ChatFile:
        """A chat whose file appears with the first record. UsageError if there is one already.

        clock: seconds since 1970, to write down when the chat was begun.
        """
        if os.path.lexists(path):
            raise UsageError(taken(path))
        return cls(path, None, clock)

    @classmethod
    def open(cls, path: Path) -> ChatFile:
        """One that exists. `read` it before the first `append`: that mends what is damaged.

        Raises ChatInUse; UsageError if it is not there, is not to be written, or is newer.
        """
        descriptor = open_locked(path)
        try:
            _check_first_line(descriptor, path)
        except UsageError:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def __enter__(self) -> ChatFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self, accept: Callable[[Mapping[str, object]], None]) -> Reading:
        """Hand every record to `accept`, as `read_records` does, and mend the file.

        If there are bad lines it is rewritten without them, once the original is kept beside it;
        `backup` of what is returned says where. It stays as it is, and is None, when that fails.
        """
        if self._descriptor is None:
            return _NOTHING
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with open(self._descriptor, "rb", closefd=False) as stream:
            reading = read_stream(stream, self.path, accept)
        if not reading.bad_count:
            return reading
        try:
            descriptor, backup = mended(self.path, self._descriptor, reading)
        except OSError:
            return reading
        os.close(self._descriptor)
        self._descriptor = descriptor
        return replace(reading, backup=backup)

    def append(self, record: Mapping[str, object]) -> None:
        """Write one record, whole or not at all. ValueError for one that is no JSON with a type.

        Raises OutputError when it cannot be written (NameTaken when the first finds a file there);
        the file is as it was, and may be tried again.
        """
        line = encode(record)
        if len(line) > MOST_LINE_BYTES:
            raise OutputError(
                f"a message of {len(line):,} bytes is not saved:"
                f" a chat's may have {MOST_LINE_BYTES:,}"
            )
        try:
            self._write(line)
        except FileExistsError as error:
            raise NameTaken(taken(self.path)) from error
        except OSError as error:
            raise OutputError(unwritable(self.path, error)) from error

    def rename(self, path: Path) -> None:
        """Give the chat another name, whether its file exists yet or not.

        Raises UsageError when that is taken, OutputError when the folder cannot be written.
        """
        if self._descriptor is not None:
            move(self.path, path)
        elif os.path.lexists(path):
            raise UsageError(taken(path))
        self.path = path

    def close(self) -> None:
        """Let others write to it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, line: bytes) -> None:
        if self._descriptor is None:
            self._descriptor = _new_file(self.path)
        descriptor = self._descriptor
        status = os.fstat(descriptor)
        if status.st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, "it was removed meanwhile")
        if status.st_size == 0:
            line = header(self._clock()) + line
        elif os.pread(descriptor, 1, status.st_size - 1) != b"\n":
            line = b"\n" + line  # the end of a line that was cut
        try:
            write_all(descriptor, line)
        except OSError:
            self._take_back(descriptor, status.st_size)
            raise

    def _take_back(self, descriptor: int, size: int) -> None:
        """Cut off what a full disk took of a line; a file with nothing in it goes."""
        with suppress(OSError):
            os.ftruncate(descriptor, size)
            if size == 0:
                self.path.unlink()
                self.close()


def _new_file(path: Path) -> int:
    private_folder(path.parent)
    descriptor = os.open(path, _NEW, 0o600)
    if not try_lock(descriptor):
        os.close(descriptor)
        raise FileExistsError(errno.EEXIST, "somebody was faster")
    return descriptor


def _check_first_line(descriptor: int, path: Path) -> None:
    """UsageError for a file of a newer version; whatever else is wrong is for reading."""
    with suppress(ValueError):
        record = decode(os.pread(descriptor, _BLOCK, 0).partition(b"\n")[0])
        if record["type"] == HEADER:
            check_version(record, path)
