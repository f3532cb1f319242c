"""The journal of generations: how each one ended and how long everything took.

Promises that remembering never fails, delays or ends a generation: what cannot be written within
moments waits in a line beside it. Any number of processes may write at once, and one that is killed
leaves whole rows. `sqlite3` is imported by whoever writes or reads, not by who could.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.folders import journal_file
from nextok.backends.journal_connection import (
    Broken,
    empty,
    let_go,
    make,
    means_broken,
    means_busy,
    readable,
    writable,
)
from nextok.backends.journal_files import JournalFiles
from nextok.backends.journal_row import LoggedText, Row
from nextok.backends.journal_schema import MIGRATIONS, version_of
from nextok.backends.journal_spool import has_lines, leave_row
from nextok.backends.journal_writing import delete_before, insert
from nextok.backends.shown_text import shown
from nextok.generation.errors import NextokError

if TYPE_CHECKING:
    from sqlite3 import Connection

    from nextok.backends.journal_queries import JournalQueries

__all__ = ["Journal", "JournalError", "LoggedText", "Row", "user_journal"]

_PATIENCE_SECONDS = 0.05
"""For another writer: a generation has ended, and somebody waits for the process to end."""
_READERS_PATIENCE_SECONDS = 1.0


def user_journal() -> Journal:
    """The one that everything this user runs shares."""
    return Journal(journal_file())


class JournalError(NextokError):
    """The journal cannot be read or emptied."""


class Journal:
    """A file, which need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = JournalFiles(path)

    def add(self, row: Row, aside: Callable[[Path], None] | None = None) -> bool:
        """Remember a generation; whether it could be. Never raises.

        One that others keep locked gets a line beside it. A file that is broken is set aside, once
        for all processes, and a new one begun; `aside` is told what it is called then.
        """
        try:
            import sqlite3
        except ImportError:  # a Python that was built without it
            return False
        try:
            self._files.drop_orphans()
            for _ in range(2):
                broken = self._add(row)
                if broken is None:
                    return True
                kept = self._files.set_aside(broken)
                if kept is not None and aside is not None:
                    aside(kept)
        except (OSError, ValueError, OverflowError, MemoryError, sqlite3.Error) as error:
            return means_busy(error) and leave_row(self.path, row)
        return False

    @contextmanager
    def reading(self, since: float | None = None) -> Iterator[JournalQueries]:
        """Ask it, for the time of a `with` block. Without a file everything is empty.

        since: only about what ended then or later, in seconds since 1970.

        Raises JournalError, also for a question that the file cannot answer.
        """
        import sqlite3

        from nextok.backends.journal_queries import JournalQueries

        self._take_in()
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(self._opened(readable))
                version = version_of(connection)
            except (OSError, Broken, sqlite3.Error) as error:
                raise JournalError(self._why(error)) from error
            try:
                connection.execute("BEGIN")  # all answers are about one moment
                yield JournalQueries(connection, since)
            except sqlite3.Error as error:
                raise JournalError(self._why(error, version)) from error

    def size_bytes(self) -> int:
        """Of all its files, one that was set aside included."""
        return self._files.size_bytes()

    def aside(self) -> list[Path]:
        """Where damaged ones are that no answer counts."""
        return self._files.aside()

    def forget(self) -> None:
        """Remove all of it. Raises JournalError while somebody reads or writes, and for another
        program's database that has its name."""
        if self._files.is_foreign():
            raise JournalError(
                f"{shown(self.path)} is another program's file, and stays: "
                "move it away if nextok is to have a journal there"
            )
        try:
            self._files.remove()
        except OSError as error:
            why = "in use" if isinstance(error, BlockingIOError) else error.strerror
            raise JournalError(
                f"{shown(self.path)} cannot be removed ({why}): try again"
            ) from error

    def prune(self, before: float) -> None:
        """Remove what ended before that moment, and give its room back. Raises JournalError."""
        import sqlite3

        try:
            with self._opened(writable) as connection:
                delete_before(connection, before)
        except (OSError, Broken, sqlite3.Error) as error:
            raise JournalError(self._why(error)) from error

    def _add(self, *rows: Row) -> int | None:
        """And what waits beside it. None, or which file is broken. Raises what `add` does not."""
        import sqlite3

        with self._files.shared(_PATIENCE_SECONDS):
            inode = self._files.inode()
            if inode is None:
                self._files.adopt(make)
            try:
                connection = writable(self.path, _PATIENCE_SECONDS)
                try:
                    insert(connection, self.path, rows)
                finally:
                    let_go(connection, self._files.log_bytes())
            except (Broken, sqlite3.DatabaseError) as error:
                if inode is None or not means_broken(error):
                    raise
                return inode
        return None

    def _take_in(self) -> None:
        """What waits beside it, if that can be done."""
        import sqlite3

        if has_lines(self.path):
            with suppress(OSError, ValueError, OverflowError, sqlite3.Error, Broken):
                self._add()

    @contextmanager
    def _opened(self, opened: Callable[[Path, float], Connection]) -> Iterator[Connection]:
        """For a person, who can wait. Raises OSError, Broken, sqlite3.Error."""
        with ExitStack() as stack:
            if self._files.is_there():
                stack.enter_context(self._files.shared(_READERS_PATIENCE_SECONDS))
                self._files.inode()
                connection = opened(self.path, _READERS_PATIENCE_SECONDS)
            else:
                connection = empty()
            stack.callback(connection.close)
            yield connection

    def _why(self, error: Exception, version: int = 0) -> str:
        path = shown(self.path)
        if version > len(MIGRATIONS):
            return f"{path} was written by a newer nextok, and this one cannot read it: update it"
        if means_busy(error):
            return f"{path} is in use by another process: try again"
        if means_broken(error):
            return f"{path} is damaged, or is no journal: `nextok forget` begins a new one"
        reason = (isinstance(error, OSError) and error.strerror) or error
        return f"{path} cannot be used: {reason}"
