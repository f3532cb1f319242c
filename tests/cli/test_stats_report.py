"""The statistics for a program: names and values from figures made by hand."""

from __future__ import annotations

import pytest

from nextok.backends.journal_row import LoggedModel
from nextok.backends.journal_statistics import ModelLatency, Saved, Spread, Statistics
from nextok.backends.length_distribution import Lengths
from nextok.cli.stats_report import Reported, as_json, as_rows, percent, rate

SPREAD = Spread(p50=0.0083, p95=0.12, p99=1.234, max=75.5)


def reported(seconds: float = 0.0, *, aborted: int = 0) -> Reported:
    """Three generations of a model, and what aborting some of them saved."""
    model = LoggedModel(id=1, name="m", quantization="Q4_0")
    return Reported(
        statistics=Statistics(
            generations=3,
            finishes={"eos": 2, "interrupted": 1},
            aborted=aborted,
            saved=Saved(
                seconds=seconds, low=seconds / 2, high=seconds * 2, aborted=aborted, unknown=0,
                completed=2 if aborted else 0,
            ),
            lengths=Lengths({10: 2, 30: 1}),
            latencies=[ModelLatency(model=model, generations=3, ttft=SPREAD, itl=SPREAD)],
        ),
        since=0.0,
        only_model=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (5.25, "5.2 s ({}, quartiles 2.6 s to 10.5 s)"),
        (100.0, "1 min 40 s ({}, quartiles 50.0 s to 3 min 20 s)"),
        (36000.0, "10 h 00 min ({}, quartiles 5 h 00 min to 20 h 00 min)"),
    ],
)
def test_long_times_are_minutes_and_hours(seconds: float, said: str) -> None:
    told = dict(as_rows(reported(seconds, aborted=1)))["saved by aborting"]
    assert told == said.format("an estimate for 1 of them from 2 completed")


def test_times_have_their_units_and_say_what_an_itl_is() -> None:
    rows = dict(as_rows(reported()))
    assert rows["TTFT m"] == "p50 8.3 ms, p95 120 ms, p99 1.23 s, max 75.5 s"
    assert rows["ITL m"].startswith(
        "p50 8.3 ms, p95 120 ms, p99 1.23 s, max 75.5 s (the median gen"
    )
    assert "saved by aborting" not in rows
    assert (rows["tokens"], rows["ended eos"]) == ("50", "2 (66.7 %)")


def test_json_has_its_units_in_its_keys() -> None:
    told = as_json(reported(5.25, aborted=1))
    assert told["since"] == "1970-01-01T00:00:00+00:00"
    (model,) = told["models"]  # type: ignore[misc]
    assert model["ttft_s"] == {"p50": 0.0083, "p95": 0.12, "p99": 1.234, "max": 75.5}
    assert model["itl_ms"] == {"p50": 8.3, "p95": 120.0, "p99": 1234.0, "max": 75500.0}
    assert told["aborted"]["saved"]["quartiles_s"] == [2.625, 10.5]  # type: ignore[index]


def test_a_share_of_nothing_is_none() -> None:
    assert (rate(1, 0), percent(1, 0), rate(1, 3), percent(1, 3)) == (None, "-", 0.333333, "33.3 %")
