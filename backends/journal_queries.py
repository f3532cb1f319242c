"""What can be asked of the journal; SQLite does the counting, over indices that hold all of it.

Knows nothing of what the figures mean together. Every method raises sqlite3.Error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.backends.journal_row import FIGURES, LoggedModel, LoggedText, Row

if TYPE_CHECKING:
    from sqlite3 import Connection

LENGTHS = """
    SELECT finish, completion_tokens, COUNT(*) FROM generation
    WHERE model_id = ? AND ended_at >= ? GROUP BY finish, completion_tokens
"""
COUNT = """
    SELECT COUNT(*) FROM generation
    WHERE model_id = ? AND {figure} IS NOT NULL AND ended_at >= ?
"""
NTH = """
    SELECT {figure} FROM generation
    WHERE model_id = ? AND {figure} IS NOT NULL AND ended_at >= ?
    ORDER BY {figure} LIMIT 2 OFFSET ?
"""
LAST = """
    SELECT {columns}, name, quantization, prompt, answer, reasoning
    FROM generation JOIN model ON model.id = model_id
    LEFT JOIN text ON generation_id = generation.id
    WHERE model_id IN ({models}) AND ended_at >= ?
    ORDER BY generation.id DESC LIMIT ?
"""
TIMES = (
    "ttft_seconds",
    "itl_p50_seconds",
    "itl_p95_seconds",
    "itl_p99_seconds",
    "itl_max_seconds",
)
"""The figures that have an index of their own."""


@dataclass(frozen=True, kw_only=True)
class LengthCount:
    """How many generations of a model ended so after so many tokens."""

    finish: str
    completion_tokens: int
    generations: int


class JournalQueries:
    """An open journal."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def models(self) -> list[LoggedModel]:
        """All there are, in the order of their first generations."""
        rows = self._connection.execute("SELECT id, name, quantization FROM model ORDER BY id")
        return [LoggedModel(id=id, name=name, quantization=kind or None) for id, name, kind in rows]

    def lengths(self, model: LoggedModel, since: float = 0.0) -> list[LengthCount]:
        """Every length there is, by how generations ended. since: seconds since 1970."""
        rows = self._connection.execute(LENGTHS, (model.id, since))
        return [
            LengthCount(finish=finish, completion_tokens=tokens, generations=count)
            for finish, tokens, count in rows
        ]

    def percentiles(
        self, figure: str, model: LoggedModel, percents: Sequence[float], since: float = 0.0
    ) -> list[float] | None:
        """Of one of TIMES over generations, interpolated; None when not one has the figure."""
        (count,) = self._connection.execute(
            COUNT.format(figure=figure), (model.id, since)
        ).fetchone()
        if not count:
            return None
        return [self._percentile(figure, model, since, count, percent) for percent in percents]

    def last(self, most: int, models: Sequence[LoggedModel], since: float = 0.0) -> list[Row]:
        """The newest generations, the newest first."""
        marks = ", ".join("?" * len(models))
        query = LAST.format(columns=", ".join(FIGURES), models=marks)
        values = [*(model.id for model in models), since, most]
        return [_row(values) for values in self._connection.execute(query, values)]

    def count_before(self, moment: float) -> int:
        """How many generations ended before it."""
        query = "SELECT COUNT(*) FROM generation WHERE ended_at < ?"
        return int(self._connection.execute(query, (moment,)).fetchone()[0])

    def _percentile(
        self, figure: str, model: LoggedModel, since: float, count: int, percent: float
    ) -> float:
        position = (count - 1) * percent / 100
        below = int(position)
        found = self._connection.execute(NTH.format(figure=figure), (model.id, since, below))
        values = [float(value) for (value,) in found]
        return values[0] + (values[-1] - values[0]) * (position - below)


def _row(values: Sequence[object]) -> Row:
    figures = dict(zip(FIGURES, values, strict=False))
    name, quantization, prompt, answer, reasoning = values[len(FIGURES) :]
    text = None
    if prompt is not None:
        text = LoggedText(prompt=str(prompt), answer=str(answer), reasoning=str(reasoning))
    return Row(**figures, model=name, quantization=quantization or None, text=text)  # type: ignore[arg-type]
