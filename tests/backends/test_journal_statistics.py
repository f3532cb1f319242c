"""Statistics of rows made by hand, each figure worked out beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, Row
from nextok.backends.journal_statistics import Saved, Spread, Statistics, statistics


def row(**figures: Any) -> Row:
    usual: dict[str, Any] = {
        "ended_at": 10.0, "command": "generate", "model": "small", "finish": "eos",
        "completion_tokens": 1, "version": "0.1.0",
    }  # fmt: skip
    return Row(**{**usual, **figures})


def timed(itl: float, **figures: Any) -> Row:
    """With all four figures of gaps: the p50, and 2, 3 and 4 times of it."""
    names = ("itl_p50_seconds", "itl_p95_seconds", "itl_p99_seconds", "itl_max_seconds")
    times = {name: itl * (index + 1) for index, name in enumerate(names)}
    return row(**times, **figures)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.sqlite")


def asked(journal: Journal, *added: Row, since: float | None = None) -> Statistics:
    assert all(map(journal.add, added))
    with journal.reading(since) as queries:
        return statistics(queries, queries.models())


NOTHING_SAVED = Saved(seconds=0, low=0, high=0, aborted=0, unknown=0, completed=0)


def test_an_empty_journal(journal: Journal) -> None:
    found = asked(journal)
    assert (found.generations, found.finishes, found.aborted) == (0, {}, 0)
    assert (found.saved, found.lengths.count, list(found.latencies)) == (NOTHING_SAVED, 0, [])


def test_endings_are_counted_and_the_most_frequent_comes_first(journal: Journal) -> None:
    endings = ["eos"] * 3 + ["interrupted", "disconnected", "timeout", "stalled", "error", "stop"]
    endings += ["length", "length", "context"]
    found = asked(journal, *(row(finish=finish) for finish in endings))
    assert found.generations == 12
    assert found.finishes == {
        "eos": 3, "length": 2, "interrupted": 1, "disconnected": 1, "timeout": 1, "stalled": 1,
        "error": 1, "stop": 1, "context": 1,
    }  # fmt: skip
    assert list(found.finishes)[:2] == ["eos", "length"]
    assert found.aborted == 4


def test_latency_by_model(journal: Journal) -> None:
    found = asked(
        journal,
        timed(0.010, ttft_seconds=0.1),
        timed(0.030, ttft_seconds=0.3),
        row(ttft_seconds=0.2),  # one token: no gap
        timed(0.5, model="large", quantization="Q8_0", ttft_seconds=2.0),
    )
    small, large = found.latencies
    assert (small.model.name, small.generations) == ("small", 3)
    assert small.ttft == Spread(
        p50=pytest.approx(0.2), p95=pytest.approx(0.29), p99=pytest.approx(0.298), max=0.3
    )
    assert small.itl == Spread(
        p50=pytest.approx(0.02), p95=pytest.approx(0.04), p99=pytest.approx(0.06), max=0.12
    )
    assert (large.model.quantization, large.generations) == ("Q8_0", 1)
    assert large.itl == Spread(p50=0.5, p95=1.0, p99=1.5, max=2.0)


def test_no_tokens_no_latency(journal: Journal) -> None:
    found = asked(journal, row(completion_tokens=0, finish="length"))
    (latency,) = found.latencies
    assert (latency.ttft, latency.itl) == (None, None)
    assert found.lengths.percentile(50) == 0
    assert found.lengths.longest_ones(1) == (1, None)


def test_what_an_aborted_one_saved(journal: Journal) -> None:
    """It said 20 tokens. Completed ones that got as far said 20, 30, 50 and 120: still 0, 10, 30
    and 100 to go. The median is 20, the quartiles 7.5 and 47.5; a token takes 0.01 s.
    """
    completed = [timed(0.01, completion_tokens=count) for count in (5, 20, 30, 50, 120)]
    found = asked(journal, *completed, timed(0.01, completion_tokens=20, finish="interrupted"))
    assert found.saved == Saved(
        seconds=pytest.approx(0.2),
        low=pytest.approx(0.075),
        high=pytest.approx(0.475),
        aborted=1,
        unknown=0,
        completed=5,
    )


def test_savings_add_up_over_models_each_with_its_own_pace(journal: Journal) -> None:
    found = asked(
        journal,
        timed(0.01, completion_tokens=100, finish="length"),
        timed(0.01, completion_tokens=40, finish="timeout"),
        timed(0.01, completion_tokens=90, finish="stalled"),
        timed(1.0, completion_tokens=10, finish="stop", model="large"),
        timed(1.0, completion_tokens=7, finish="disconnected", model="large"),
    )
    # 60 and 10 tokens of 0.01 s, and 3 of 1 s
    assert found.saved.seconds == pytest.approx(3.7)
    assert (found.saved.aborted, found.saved.completed) == (3, 2)


def test_an_error_and_a_full_context_complete_nothing(journal: Journal) -> None:
    found = asked(
        journal,
        timed(0.01, completion_tokens=100, finish="error"),
        timed(0.01, completion_tokens=100, finish="context"),
        timed(0.01, completion_tokens=5, finish="interrupted"),
    )
    assert found.saved == Saved(seconds=0, low=0, high=0, aborted=0, unknown=1, completed=0)


def test_what_nothing_can_be_compared_with_is_counted_apart(journal: Journal) -> None:
    found = asked(
        journal,
        timed(0.01, completion_tokens=10),
        timed(0.01, completion_tokens=4, finish="interrupted"),
        timed(0.01, completion_tokens=11, finish="interrupted"),  # further than any
        row(completion_tokens=0, finish="interrupted", model="never ran"),
    )
    assert found.saved.seconds == pytest.approx(0.06)
    assert (found.saved.aborted, found.saved.unknown, found.saved.completed) == (1, 2, 1)


def test_since_and_a_choice_of_models(journal: Journal) -> None:
    added = [
        row(ended_at=1.0, completion_tokens=3),
        row(ended_at=2.0, completion_tokens=4),
        row(ended_at=3.0, completion_tokens=5, model="large"),
    ]
    assert asked(journal, *added, since=2.0).lengths.total == 9
    with journal.reading() as queries:
        chosen = [model for model in queries.models() if model.name == "large"]
        found = statistics(queries, chosen)
    assert (found.generations, found.lengths.total) == (1, 5)
    assert [one.model.name for one in found.latencies] == ["large"]
