"""What can be asked of the journal; SQLite does the counting, over indices that hold all of it.

Knows nothing of what the figures mean together. Every method raises sqlite3.Error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nextok.backends.journal_row import FIGURES, LoggedModel, LoggedText, Row

if TYPE_CHECKING:
    from sqlite3 import Connection

LENGTHS = """
    SELECT finish, completion_tokens, COUNT(*) FROM generation
    WHERE model_id = ? {since} GROUP BY finish, completion_tokens
"""
WITHOUT = "SELECT COUNT(*) FROM generation WHERE model_id = ? AND {figure} IS NULL {since}"
NTH = """
    SELECT {figure} FROM generation WHERE model_id = ? AND {figure} IS NOT NULL {since}
    ORDER BY {figure} {order} LIMIT ? OFFSET ?
"""
_SINCE = "AND ended_at >= {since!r}"
"""Left out where it is not needed: it makes a walk through an index nearly twice as long."""
LAST = """
    SELECT {columns}, name, quantization, prompt, answer, reasoning
    FROM generation JOIN model ON model.id = model_id
    LEFT JOIN text ON generation_id = generation.id
    WHERE +model_id IN ({models}) {since}
    ORDER BY generation.id DESC LIMIT ?
"""
"""Walked from the end: the `+` keeps SQLite from gathering and sorting all of a model's."""
ANSWERS = """
    SELECT finish, completion_tokens, prompt_tokens FROM generation
    WHERE model_id IN ({models}) {since} ORDER BY id
"""
TTFT = "ttft_seconds"
ITL_P50, ITL_P95, ITL_P99, ITL_MAX = (
    "itl_p50_seconds", "itl_p95_seconds", "itl_p99_seconds", "itl_max_seconds",
)  # fmt: skip
"""The figures that have an index of their own. Of one generation, all four exist or none."""


class LengthCount(NamedTuple):
    """How many generations of a model ended so after so many tokens."""

    finish: str
    completion_tokens: int
    generations: int


class LoggedAnswer(NamedTuple):
    """How one generation ended, after how many tokens, and how long its prompt was."""

    finish: str
    completion_tokens: int
    prompt_tokens: int | None


class JournalQueries:
    """An open journal."""

    def __init__(self, connection: Connection, since: float | None = None) -> None:
        """since: only what ended then or later, in seconds since 1970."""
        self._connection = connection
        self._since = "" if since is None else _SINCE.format(since=float(since))

    def models(self) -> list[LoggedModel]:
        """All there are, in the order of their first generations."""
        rows = self._connection.execute("SELECT id, name, quantization FROM model ORDER BY id")
        return [LoggedModel(id=id, name=name, quantization=kind or None) for id, name, kind in rows]

    def lengths(self, model: LoggedModel) -> list[LengthCount]:
        """Every length there is, by how generations ended."""
        rows = self._connection.execute(LENGTHS.format(since=self._since), (model.id,))
        return list(map(LengthCount._make, rows))

    def answers(self, models: Sequence[LoggedModel]) -> list[LoggedAnswer]:
        """Each generation by itself, the oldest first. Reads every row."""
        query = ANSWERS.format(models=", ".join("?" * len(models)), since=self._since)
        rows = self._connection.execute(query, [model.id for model in models])
        return list(map(LoggedAnswer._make, rows))

    def without(self, figure: str, model: LoggedModel) -> int:
        """How many generations lack the figure: few, so that they are sooner counted than those
        that have it."""
        query = WITHOUT.format(figure=figure, since=self._since)
        return int(self._connection.execute(query, (model.id,)).fetchone()[0])

    def percentile(self, figure: str, model: LoggedModel, percent: float, *, count: int) -> float:
        """Of a figure with an index, over generations; interpolated between the two nearest.

        count: how many have it, at least one.
        """
        position = (count - 1) * percent / 100
        below = int(position)
        low, high = self._neighbours(figure, model, below, count)
        return low + (high - low) * (position - below)

    def last(self, most: int, models: Sequence[LoggedModel]) -> list[Row]:
        """The newest generations, the newest first."""
        query = LAST.format(
            columns=", ".join(FIGURES), models=", ".join("?" * len(models)), since=self._since
        )
        values = [*(model.id for model in models), most]
        return [_row(values) for values in self._connection.execute(query, values)]

    def count_before(self, moment: float) -> int:
        """How many generations ended before it."""
        query = "SELECT COUNT(*) FROM generation WHERE ended_at < ?"
        return int(self._connection.execute(query, (moment,)).fetchone()[0])

    def moment_of(self, index: int) -> float | None:
        """When the generation with this place in time ended, from 0; None without one."""
        query = "SELECT ended_at FROM generation ORDER BY ended_at LIMIT 1 OFFSET ?"
        found = self._connection.execute(query, (index,)).fetchone()
        return None if found is None else float(found[0])

    def size_bytes(self) -> int:
        """Of the database itself."""
        pages = self._connection.execute("PRAGMA page_count").fetchone()[0]
        return int(pages * self._connection.execute("PRAGMA page_size").fetchone()[0])

    def _neighbours(
        self, figure: str, model: LoggedModel, index: int, count: int
    ) -> tuple[float, float]:
        """The values at an index and after it, the last one twice. Found from the nearer end: an
        index is walked one by one."""
        backwards = index > count // 2
        query = NTH.format(figure=figure, since=self._since, order="DESC" if backwards else "ASC")
        steps = max(0, count - 2 - index) if backwards else index
        wanted = min(2, count - index)
        rows = self._connection.execute(query, (model.id, wanted, steps)).fetchall()
        values = sorted(float(value) for (value,) in rows)
        return values[0], values[-1]


def _row(values: Sequence[object]) -> Row:
    figures = dict(zip(FIGURES, values, strict=False))
    name, quantization, prompt, answer, reasoning = values[len(FIGURES) :]
    text = None
    if prompt is not None:
        text = LoggedText(prompt=str(prompt), answer=str(answer), reasoning=str(reasoning))
    return Row(**figures, model=name, quantization=quantization or None, text=text)  # type: ignore[arg-type]
