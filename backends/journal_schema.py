"""The tables of the journal, and how older ones become newer ones.

The version is in the file (`PRAGMA user_version`), and so is whose file it is
(`PRAGMA application_id`). Steps are only ever added at the end of MIGRATIONS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite3 import Connection

APPLICATION_ID = 0x6E78746B  # "nxtk"

#: The model is a number so that indices stay small; each index answers one figure of the
#: statistics by itself, whatever the time asked about.
_FIRST = """
CREATE TABLE model (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    quantization TEXT NOT NULL,
    UNIQUE (name, quantization)
);
CREATE TABLE generation (
    id INTEGER PRIMARY KEY,
    ended_at REAL NOT NULL,
    command TEXT NOT NULL,
    model_id INTEGER NOT NULL REFERENCES model (id),
    threads INTEGER,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    completion_tokens INTEGER NOT NULL,
    finish TEXT NOT NULL,
    stop TEXT,
    load_seconds REAL,
    ttft_seconds REAL,
    prefill_seconds REAL,
    decode_seconds REAL,
    total_seconds REAL,
    itl_p50_seconds REAL,
    itl_p95_seconds REAL,
    itl_p99_seconds REAL,
    itl_max_seconds REAL,
    seed INTEGER,
    version TEXT NOT NULL
);
CREATE TABLE text (
    generation_id INTEGER PRIMARY KEY REFERENCES generation (id),
    prompt TEXT NOT NULL,
    answer TEXT NOT NULL,
    reasoning TEXT NOT NULL
);
CREATE INDEX generation_length ON generation (model_id, finish, completion_tokens, ended_at);
CREATE INDEX generation_ttft ON generation (model_id, ttft_seconds, ended_at);
CREATE INDEX generation_itl_p50 ON generation (model_id, itl_p50_seconds, ended_at);
CREATE INDEX generation_itl_p95 ON generation (model_id, itl_p95_seconds, ended_at);
CREATE INDEX generation_itl_p99 ON generation (model_id, itl_p99_seconds, ended_at);
CREATE INDEX generation_itl_max ON generation (model_id, itl_max_seconds, ended_at)
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""What leads from each version to the next, from 0 on: statements with `;` between them."""


def version_of(connection: Connection) -> int:
    """The file's version; it may be newer than ours. Raises sqlite3.Error."""
    return _pragma(connection, "user_version")


def is_ours(connection: Connection) -> bool:
    """Whether it is a journal at all. Raises sqlite3.Error."""
    return _pragma(connection, "application_id") == APPLICATION_ID


def migrate(connection: Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring it up to the newest version, all of the way or not at all.

    Any number of processes may do so at once. One that is newer stays as it is. Raises
    sqlite3.Error.
    """
    if version_of(connection) >= len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done some of it until now.
        for step in migrations[version_of(connection) :]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _pragma(connection: Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)
