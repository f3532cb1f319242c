"""Rows put into an open journal, and taken out of it again.

Every function raises sqlite3.Error and ends the transaction it began, or leaves that to who closes
the connection.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.journal_row import FIGURES, Row
from nextok.backends.journal_spool import taken_lines

if TYPE_CHECKING:
    from sqlite3 import Connection

_MODEL = "INSERT OR IGNORE INTO model (name, quantization) VALUES (?, ?)"
_MODEL_ID = "SELECT id FROM model WHERE name = ? AND quantization = ?"
_KNOWN_ID = "SELECT id FROM model WHERE name = ? AND quantization <> '' ORDER BY id DESC LIMIT 1"
_UNITE = """
    UPDATE generation SET model_id = ?
    WHERE model_id = (SELECT id FROM model WHERE name = ? AND quantization = '')
"""
_GENERATION = (
    f"INSERT INTO generation ({', '.join(FIGURES)}, model_id) "
    f"VALUES ({', '.join('?' * (len(FIGURES) + 1))})"
)
_TEXT = "INSERT INTO text (generation_id, prompt, answer, reasoning) VALUES (?, ?, ?, ?)"
_PRUNED_TEXT = "DELETE FROM text WHERE generation_id IN (SELECT id FROM generation WHERE {which})"
_PRUNED = "DELETE FROM generation WHERE {which}"
_BEFORE = "ended_at < ?"
_COUNTS = f"SELECT SUM({_BEFORE}), COUNT(*) FROM generation"
_INDEXES = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'generation'"
_MANY = 10_000
"""Rows: to take more out of every index, one by one and a third of all, takes longer than to make
the indexes anew."""


def insert(connection: Connection, path: Path, rows: Iterable[Row]) -> None:
    """These rows, after those that wait beside the journal."""
    connection.execute("BEGIN IMMEDIATE")
    for row in (*taken_lines(path), *rows):
        _insert_one(connection, row)
    connection.execute("COMMIT")


def delete_before(connection: Connection, moment: float) -> None:
    """What ended before it, its text, and the room it took."""
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -65536")  # KiB
    connection.execute("BEGIN IMMEDIATE")
    doomed, every = connection.execute(_COUNTS, (moment,)).fetchone()
    anew = (doomed or 0) > _MANY and doomed > every // 3
    indexes = connection.execute(_INDEXES).fetchall() if anew else []
    for name, _ in indexes:
        connection.execute(f'DROP INDEX "{name}"')
    for statement in (_PRUNED_TEXT, _PRUNED):
        connection.execute(statement.format(which=_BEFORE), (moment,))
    for _, statement in indexes:
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.execute("VACUUM")


def _insert_one(connection: Connection, row: Row) -> None:
    figures = [_written(getattr(row, name)) for name in FIGURES]
    model = _model_id(connection, str(_written(row.model)), row.quantization or "")
    cursor = connection.execute(_GENERATION, [*figures, model])
    if row.text is not None:
        said = (row.text.prompt, row.text.answer, row.text.reasoning)
        connection.execute(_TEXT, [cursor.lastrowid, *map(_written, said)])


def _model_id(connection: Connection, name: str, quantization: str) -> int:
    """Of who cannot tell the quantisation, that of the name: a load that was cut is no other
    model."""
    known = None if quantization else connection.execute(_KNOWN_ID, (name,)).fetchone()
    if known is None:
        connection.execute(_MODEL, (name, quantization))
        known = connection.execute(_MODEL_ID, (name, quantization)).fetchone()
        if quantization:
            connection.execute(_UNITE, (known[0], name))
    return int(known[0])


def _written(value: object) -> object:
    """As SQLite takes it: a name from a file system may hold bytes that are no text."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
