"""The lock that all who fetch the same contents take, so that they are fetched once.

Promises to wait with an open ear for the abort flag, and that what a killed process left does not
block: the system drops its lock with the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nextok.backends.feed import TICK_SECONDS
from nextok.backends.partial_file import write_error
from nextok.generation.abort import Abort


@contextmanager
def locked(path: Path, abort: Abort, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock; `waiting` is called again and again while somebody else does.

    Raises CacheNotWritable, DiskFull, Aborted.
    """
    # The library's own module and modes: huggingface_hub must see our lock, and we must see its.
    from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

    lock: BaseFileLock = FileLock(path, mode=0o664)
    while True:
        abort.check()
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            waiting()
            time.sleep(TICK_SECONDS)
        except NotImplementedError:  # the file system has no locks
            lock = SoftFileLock(path, mode=0o664)
        except OSError as error:
            raise write_error(error, path) from error
    try:
        yield
    finally:
        with suppress(OSError):
            lock.release()
