"""The files of the journal: who may use them at once, and how they come and go.

Whoever reads or writes holds a shared lock on the folder, whoever takes a file away an exclusive
one, so that no file is taken from under anybody. A dead process holds no lock. On a file system
without locks files are used, and never taken away.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nextok.backends.draft_file import private_folder
from nextok.backends.journal_schema import APPLICATION_ID
from nextok.backends.journal_spool import PENDING

_PAUSE_SECONDS = 0.002
_SHORT_SECONDS, _LONG_SECONDS = 0.02, 2.0
"""To wait for a lock: where nobody may notice, and where somebody asked for it."""
_LOG = "-wal"
_BESIDE = ("", _LOG, "-shm")
"""What SQLite calls the files of a database."""
_BAD = (".bad", ".bad2", ".bad3")
"""Of those set aside: the first stays, and of many the newest has the last name."""
_MAGIC, _OWNER = b"SQLite format 3\0", slice(68, 72)
"""How a database begins, and where it says whose it is."""
_NEW = ".new"
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL)


class JournalFiles:
    """A database by its path, and what is beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> list[Path]:
        """Those that are there, one set aside and what killed processes left included."""
        names = {self.path.name + ending for ending in (*_BESIDE, PENDING, *_bad())}
        with suppress(OSError), os.scandir(self.path.parent) as entries:
            return sorted(
                Path(one.path) for one in entries if one.name in names or self._is_new(one.name)
            )
        return []

    def is_there(self) -> bool:
        """Whether it exists. OSError where there can be none, as below what is no folder."""
        try:
            os.stat(self.path)
        except FileNotFoundError:
            return False
        return True

    def aside(self) -> list[Path]:
        """Broken ones that were set aside, the oldest first."""
        return [path for path in self._places_aside() if path.exists()]

    def size_bytes(self) -> int:
        """Of all of them."""
        total = 0
        for path in self.all():
            with suppress(OSError):
                total += path.lstat().st_size
        return total

    def log_bytes(self) -> int:
        """Of what is not in the database itself yet."""
        try:
            return os.stat(f"{self.path}{_LOG}").st_size
        except OSError:
            return 0

    @contextmanager
    def shared(self, patience_seconds: float) -> Iterator[None]:
        """Use the files. Makes the folder. Raises OSError, BlockingIOError for a lock."""
        private_folder(self.path.parent)
        with _locked(self.path.parent, fcntl.LOCK_SH, patience_seconds):
            yield

    def inode(self) -> int | None:
        """Which file has the name, None without one. OSError if it is no regular file of ours.

        What others could read is closed to them, as SQLite does it with what it puts beside it.
        """
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{self.path} is not a file")
        if stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.getuid():
            os.chmod(self.path, 0o600)
        return status.st_ino

    def adopt(self, make: Callable[[Path], None]) -> None:
        """Have a database made beside its place, and give it the name when it is whole.

        Unless another process was quicker: then its file stays. Raises OSError, and what `make`
        does.
        """
        new = self.path.with_name(f"{self.path.name}.{os.urandom(8).hex()}{_NEW}")
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            make(new)
            with suppress(FileExistsError):
                _link(new, self.path)
        finally:
            with suppress(FileNotFoundError):
                new.unlink()

    def drop_orphans(self) -> None:
        """Remove the log of a database that is gone: SQLite would play it into the next one.

        Raises OSError, BlockingIOError while somebody uses the files.
        """
        if self.path.exists() or not self.log_bytes():
            return
        with _locked(self.path.parent, fcntl.LOCK_EX, _SHORT_SECONDS):
            if not self.path.exists():
                for ending in _BESIDE[1:]:
                    with suppress(FileNotFoundError):
                        os.unlink(f"{self.path}{ending}")

    def is_foreign(self) -> bool:
        """Whether it is a sound database of another program."""
        try:
            with self.path.open("rb") as file:
                head = file.read(100)
        except OSError:
            return False
        return head.startswith(_MAGIC) and head[_OWNER] != APPLICATION_ID.to_bytes(4, "big")

    def set_aside(self, inode: int) -> Path | None:
        """Take a broken database away, so that the next one to write begins anew; where it is.

        One that has another file's place by now stays, and of one without a byte nothing is kept.
        Raises OSError, BlockingIOError while somebody uses it.
        """
        with _locked(self.path.parent, fcntl.LOCK_EX, _SHORT_SECONDS):
            if self.inode() != inode:
                return None
            if not self.path.stat().st_size + self.log_bytes():
                self.path.unlink()
                return None
            kept = self._place_aside()
            # Its log first: SQLite would play it into the next database of this name.
            for ending in reversed(_BESIDE):
                with suppress(FileNotFoundError):
                    os.replace(f"{self.path}{ending}", f"{kept}{ending}")
            return kept

    def _place_aside(self) -> Path:
        places = self._places_aside()
        return next((one for one in places if not one.exists()), places[-1])

    def _places_aside(self) -> list[Path]:
        return [Path(f"{self.path}{bad}") for bad in _BAD]

    def remove(self) -> None:
        """All of them. Raises OSError, BlockingIOError while somebody uses them."""
        if not self.all():
            return
        with _locked(self.path.parent, fcntl.LOCK_EX, _LONG_SECONDS):
            for path in reversed(self.all()):
                with suppress(FileNotFoundError):
                    path.unlink()

    def _is_new(self, name: str) -> bool:
        return name.startswith(f"{self.path.name}.") and _NEW in name


def _link(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if not path.exists():
            os.rename(new, path)


def _bad() -> list[str]:
    return [bad + ending for bad in _BAD for ending in _BESIDE]


@contextmanager
def _locked(folder: Path, kind: int, patience_seconds: float) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _wait_for(descriptor, kind, patience_seconds)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, kind: int, patience_seconds: float) -> None:
    for left in range(int(patience_seconds / _PAUSE_SECONDS), -1, -1):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not left:
                raise
        except OSError as error:
            if kind == fcntl.LOCK_EX or error.errno not in _NO_LOCKS:
                raise
            return
        time.sleep(_PAUSE_SECONDS)
