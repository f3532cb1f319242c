"""A file that gets its name when it is whole, and a folder that nobody else may look into.

Promises that the name means the old contents or the new ones, whatever ends the process. What a
killed process left behind is removed by the next one that writes into the same folder.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_SUFFIX = ".draft"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_HELD = (errno.EWOULDBLOCK, errno.EACCES)


class Draft:
    """A nameless file beside `path`, mode 0600. A context manager; without `settle` it is gone.

    Every method raises OSError.
    """

    def __init__(self, path: Path) -> None:
        """Makes the folder, too."""
        private_folder(path.parent)
        remove_abandoned(path.parent)
        self._path = path
        self._draft, self.descriptor = _new_draft(path.parent)
        self._settled = False

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._settled:
            with suppress(OSError):
                self._draft.unlink()
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def write(self, data: bytes | memoryview) -> None:
        """Append all of it, without a copy."""
        write_all(self.descriptor, data)

    def settle(self) -> None:
        """Have the bytes on the disk; then give the file its name, instead of what had it."""
        sync(self.descriptor)
        os.replace(self._draft, self._path)
        self._settled = True

    def detach(self) -> int:
        """The descriptor, locked (flock) and open for appending, from now on the caller's."""
        descriptor, self.descriptor = self.descriptor, -1
        return descriptor


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """One write, and more only when the system takes less than all."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Have what was written on the disk."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot
            raise


def private_folder(folder: Path) -> None:
    """Make it, for its owner alone. One that is there stays as it is. Raises OSError."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except FileExistsError as error:
        leads_nowhere = folder.is_symlink() and not folder.exists()
        what = "a link that leads nowhere" if leads_nowhere else "a file"
        raise NotADirectoryError(errno.ENOTDIR, f"its folder is {what}") from error


def is_draft(name: str) -> bool:
    """Whether a file of this name is not whole yet, or was never finished."""
    return name.startswith(".") and name.endswith(_SUFFIX)


def remove_abandoned(folder: Path) -> None:
    """Drafts that nobody holds a lock on: their writers are dead. Never raises."""
    with suppress(OSError):
        for name in filter(is_draft, os.listdir(folder)):
            with suppress(OSError):
                _remove_if_abandoned(folder / name)


def try_lock(descriptor: int) -> bool:
    """Whether the file is now locked by us, or is on a file system that has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _HELD
    return True


def _new_draft(folder: Path) -> tuple[Path, int]:
    while True:
        path = folder / f".{os.urandom(8).hex()}{_SUFFIX}"
        descriptor = os.open(path, _FLAGS, 0o600)
        # Somebody who cleans up may have come between the two calls, and taken it for abandoned.
        if try_lock(descriptor) and os.fstat(descriptor).st_nlink > 0:
            return path, descriptor
        os.close(descriptor)


def _remove_if_abandoned(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)
