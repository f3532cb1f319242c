"""What is asked of the journal is counted by SQLite, over an index that holds all of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, Row
from nextok.backends.journal_queries import (
    ITL_MAX,
    ITL_P50,
    ITL_P95,
    ITL_P99,
    LAST,
    LENGTHS,
    NTH,
    TTFT,
    WITHOUT,
    LengthCount,
)
from nextok.backends.journal_row import LoggedModel

FIGURES = (TTFT, ITL_P50, ITL_P95, ITL_P99, ITL_MAX)
SINCE = ("", "AND ended_at >= 5.0")


def row(**figures: Any) -> Row:
    usual: dict[str, Any] = {
        "ended_at": 10.0, "command": "generate", "model": "small", "finish": "eos",
        "completion_tokens": 1, "version": "0.1.0",
    }  # fmt: skip
    return Row(**{**usual, **figures})


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.sqlite")


@pytest.fixture
def connection(journal: Journal) -> Iterator[sqlite3.Connection]:
    assert journal.add(row())
    with closing(sqlite3.connect(journal.path)) as made:
        yield made


def plan(connection: sqlite3.Connection, query: str, *values: object) -> str:
    """How SQLite means to answer, in one line."""
    rows = connection.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall()
    return "; ".join(row[3] for row in rows)


@pytest.mark.parametrize("since", SINCE)
def test_lengths_are_counted_in_the_order_of_an_index(
    connection: sqlite3.Connection, since: str
) -> None:
    told = plan(connection, LENGTHS.format(since=since), 1)
    assert told == "SEARCH generation USING COVERING INDEX generation_length (model_id=?)"


@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("figure", FIGURES)
def test_a_percentile_is_a_walk_through_an_index(
    connection: sqlite3.Connection, figure: str, since: str
) -> None:
    name = f"generation_{figure.removesuffix('_seconds')}"
    walk = f"SEARCH generation USING COVERING INDEX {name} (model_id=? AND {figure}>?)"
    lacking = plan(connection, WITHOUT.format(figure=figure, since=since), 1)
    when = " AND ended_at>?" if since else ""
    assert lacking == walk.replace(f"{figure}>?", f"{figure}=?{when}")
    for order in ("ASC", "DESC"):
        query = NTH.format(figure=figure, since=since, order=order)
        assert plan(connection, query, 1, 2, 7) == walk


def test_the_last_ones_are_found_from_the_end(connection: sqlite3.Connection) -> None:
    told = plan(connection, LAST.format(columns="finish", models="?, ?", since=""), 1, 2, 20)
    assert told.startswith("SCAN generation; ")
    assert "ORDER BY" not in told  # nothing is sorted


def test_lengths_by_ending_of_one_model(journal: Journal) -> None:
    for finish, tokens in (("eos", 5), ("eos", 5), ("length", 9), ("interrupted", 0)):
        assert journal.add(row(finish=finish, completion_tokens=tokens))
    assert journal.add(row(model="other", completion_tokens=77))
    with journal.reading() as queries:
        small, other = queries.models()
        assert queries.lengths(small) == [
            LengthCount("eos", 5, 2), LengthCount("interrupted", 0, 1), LengthCount("length", 9, 1),
        ]  # fmt: skip
        assert queries.lengths(other) == [LengthCount("eos", 77, 1)]


@pytest.mark.parametrize(
    ("percent", "value"),
    [(0, 0.1), (25, 0.175), (50, 0.25), (75, 0.325), (95, 0.385), (100, 0.4)],
)
def test_a_percentile_is_numpys(journal: Journal, percent: float, value: float) -> None:
    """Of 0.1, 0.2, 0.3 and 0.4: at 3 * percent / 100, counted from 0."""
    for seconds in (0.3, 0.1, None, 0.4, 0.2):
        assert journal.add(row(ttft_seconds=seconds))
    with journal.reading() as queries:
        (model,) = queries.models()
        assert queries.without(TTFT, model) == 1
        assert queries.percentile(TTFT, model, percent, count=4) == pytest.approx(value)


def test_since_leaves_out_what_ended_before(journal: Journal) -> None:
    for moment, seconds in ((4.9, 9.0), (5.0, 1.0), (6.0, 3.0)):
        longest = 1.0 if moment == 6 else None
        assert journal.add(row(ended_at=moment, ttft_seconds=seconds, itl_max_seconds=longest))
    with journal.reading(5.0) as queries:
        (model,) = queries.models()
        assert queries.lengths(model) == [LengthCount("eos", 1, 2)]
        assert queries.without(ITL_MAX, model) == 1
        assert queries.percentile(TTFT, model, 100, count=2) == 3.0
        assert [one.ended_at for one in queries.last(10, [model])] == [6.0, 5.0]


def test_the_last_ones_are_those_of_the_models_asked_about(journal: Journal) -> None:
    for number, model in enumerate(("a", "b", "a", "c")):
        assert journal.add(row(model=model, completion_tokens=number))
    with journal.reading() as queries:
        a, b, c = queries.models()
        assert [one.completion_tokens for one in queries.last(2, [a, b, c])] == [3, 2]
        assert [one.completion_tokens for one in queries.last(9, [a, b])] == [2, 1, 0]
        assert queries.last(9, []) == []
        assert c == LoggedModel(id=3, name="c", quantization=None)


def test_all_answers_are_about_one_moment(journal: Journal) -> None:
    """Others write, and forget, while somebody asks."""
    for seconds in (0.1, 0.2, 0.3):
        assert journal.add(row(ttft_seconds=seconds))
    with journal.reading() as queries:
        (model,) = queries.models()
        assert queries.lengths(model) == [LengthCount("eos", 1, 3)]
        assert journal.add(row(ttft_seconds=9.0))
        assert queries.lengths(model) == [LengthCount("eos", 1, 3)]
        assert queries.percentile(TTFT, model, 100, count=3) == 0.3
