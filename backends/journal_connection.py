"""How the journal's database is opened and closed, and what is wrong with one.

Every function raises sqlite3.Error, and is to be called by who has imported sqlite3 already: the
import takes longer than everything here.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.journal_schema import is_ours, migrate

if TYPE_CHECKING:
    from sqlite3 import Connection


_LARGE_LOG = 1 << 20
"""Bytes: some 35 rows. Reading a larger one at each start would take longer than the row."""


class Broken(Exception):
    """The file is empty: it was a journal once."""


def connect(path: Path, mode: str, patience_seconds: float) -> Connection:
    """Open a file that is there. mode: `rw`, or `ro&immutable=1` for one that never changes."""
    import sqlite3

    escaped = os.fspath(path.absolute())
    for character, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        escaped = escaped.replace(character, code)
    return sqlite3.connect(
        f"file:{escaped}?mode={mode}", uri=True, timeout=patience_seconds, isolation_level=None
    )


def checked(connection: Connection, path: Path) -> Connection:
    """The connection, if it is to a journal. Raises Broken, and OSError for another's file."""
    if not is_ours(connection):
        if not path.stat().st_size:
            raise Broken
        raise OSError(errno.EEXIST, "another program's file has its name")
    return connection


def writable(path: Path, patience_seconds: float) -> Connection:
    """A journal to write to, brought up to date. Raises Broken and OSError, too.

    Writing waits for no disk: a row is in the log, whose frames are checked, and a power cut may
    cost the last ones. That holds as long as a log is only ever removed, never begun anew, so
    it is played into the file by who closes it, and by nobody in between.
    """
    connection = connect(path, "rw", patience_seconds)
    try:
        migrate(checked(connection, path))
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA synchronous = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def readable(path: Path, patience_seconds: float) -> Connection:
    """A journal to read, also on a disk that cannot be written to. Raises Broken and OSError."""
    import sqlite3

    failure: Exception = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for mode in ("rw", "ro&immutable=1"):
        connection = connect(path, mode, patience_seconds)
        try:
            checked(connection, path)
            with suppress(sqlite3.OperationalError):  # read as it is, then
                migrate(connection)
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
    raise failure


def empty() -> Connection:
    """A journal without a file."""
    import sqlite3

    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    return connection


def make(path: Path) -> None:
    """Turn an empty file into a journal without a row."""
    connection = connect(path, "rw", 0.0)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        migrate(connection)
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def let_go(connection: Connection, log_bytes: int) -> None:
    """Close it, and leave the log where it is until it has grown.

    Whoever closes a database last plays its log into it, and waits for the disk twice: 20 ms
    or more that nobody has at the end of a process. The next one to write finds the log.
    """
    if connection.in_transaction:
        connection.rollback()
    if log_bytes > _LARGE_LOG:
        connection.execute("PRAGMA synchronous = NORMAL")
    elif sys.version_info >= (3, 12):
        import sqlite3

        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
    else:
        connection.interrupt()  # what is closing looks at it before the first page
    connection.close()


def means_broken(error: Exception) -> bool:
    """Whether no try will ever succeed: what SQLite says of a file that is none of its own."""
    import sqlite3

    # All that may pass (locked, full, read-only) is a subclass.
    return isinstance(error, Broken) or type(error) is sqlite3.DatabaseError


def means_busy(error: Exception) -> bool:
    """Whether others use it at the moment."""
    import sqlite3

    locked = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
    return locked or isinstance(error, BlockingIOError)
