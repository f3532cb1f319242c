"""The numbers of a plot: the same percentiles as everywhere, stalls, labels, axes, bins."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.generation.timings import percentile
from nextok.lab.axis import Axis
from nextok.lab.latency_figures import (
    HEADS,
    Series,
    all_series,
    bin_count,
    gap_axis,
    gap_label,
    heading,
    milliseconds,
    token_axis,
)
from nextok.lab.trace_file import read_trace

Trace = Callable[..., Path]


def series_of(*paths: Path) -> list[Series]:
    return all_series([read_trace(str(path)) for path in paths])


def test_percentiles_are_those_of_the_timings(trace: Trace) -> None:
    draw = random.Random(1)
    gaps = [round(draw.lognormvariate(3, 0.4), 3) for _ in range(157)]
    (one,) = series_of(trace(gaps))
    expected = [percentile(sorted(gaps), part) for part in (50, 95, 99)]
    assert [value for _, value in one.percentiles_ms] == pytest.approx(expected, rel=1e-12)
    assert one.gaps_ms == tuple(gaps)
    assert one.points == list(enumerate(gaps, 1))


def test_a_stall_is_a_gap_over_five_medians(trace: Trace) -> None:
    (one,) = series_of(trace([10, 10, 50, 10, 50.001, 10, 10]))
    assert one.stalls == (4,)
    assert one.stall_points == [(5, 50.001)]


def test_without_a_median_there_is_no_stall(trace: Trace) -> None:
    (one,) = series_of(trace([0, 0, 0, 7]))
    assert one.stalls == ()


def test_the_cells_are_figures_people_read(trace: Trace) -> None:
    (one,) = series_of(trace([20.9, 20.9, 1203.4]))
    assert dict(zip(HEADS, one.cells, strict=True)) == {
        "tokens": "4", "prefill ms": "380", "TTFT ms": "500", "p50 ms": "20.9",
        "p95 ms": "1,085", "p99 ms": "1,180", "max ms": "1,203", "stalls": "1", "end": "length",
    }  # fmt: skip


def test_what_a_trace_does_not_know_is_a_dash(trace: Trace) -> None:
    (one,) = series_of(trace([20.9], end=False))
    cells = dict(zip(HEADS, one.cells, strict=True))
    assert (cells["prefill ms"], cells["end"]) == ("-", "unfinished")


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.3664, "0.366"), (0, "0.000"), (4.707, "4.71"), (9.996, "10.0"), (20.94, "20.9"),
     (99.96, "100"), (1203.4, "1,203")],
)  # fmt: skip
def test_three_digits_count(value: float, said: str) -> None:
    assert milliseconds(value) == said


def test_the_title_is_what_all_share_and_the_label_the_rest(trace: Trace) -> None:
    one = trace([5, 6], name="one.jsonl")
    two = trace([5, 6], name="two.jsonl", threads=2, seed=9, sampling={"temperature": 0})
    assert heading(series_of(one)) == (
        "Inter-token latency of m.Q4_1",
        "1 thread · context of 2,048 tokens · temperature 0.8 · seed 4 · "
        "prompt of 34 tokens, 2 cached",
    )
    both = series_of(one, two)
    assert heading(both) == (
        "Inter-token latency of m.Q4_1", "context of 2,048 tokens · prompt of 34 tokens, 2 cached",
    )  # fmt: skip
    assert [series.label for series in both] == [
        "one.jsonl · 1 thread · temperature 0.8", "two.jsonl · 2 threads · temperature 0",
    ]  # fmt: skip


def test_the_quantisation_is_said_where_the_name_does_not(trace: Trace) -> None:
    said = {"quantization": "Q8_0"}
    assert heading(series_of(trace([5], model="mine", **said)))[0].endswith(" of mine Q8_0")
    assert heading(series_of(trace([5], model="m-q8_0", **said)))[0].endswith(" of m-q8_0")


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((1,), "2→1 threads"),
        ((1, 2, 1), "2→1→2→1 threads"),
        ((1, 2, 1, 2), "1 to 2 threads (4 changes)"),
    ],
)
def test_the_title_says_which_threads_there_were(
    trace: Trace, counts: tuple[int, ...], said: str
) -> None:
    path = trace([5, 6, 7, 8, 9, 10], threads=2)
    lines = [
        {"type": "threads", "i": 2 + place, "threads": one} for place, one in enumerate(counts)
    ]
    start, *rest = path.read_text().splitlines()
    path.write_text("\n".join([start, *map(json.dumps, lines), *rest]))
    (one,) = series_of(path)
    assert heading([one])[1].startswith(f"{said} · ")
    words = {1: "1 thread", 2: "2 threads"}
    assert one.thread_marks == [(2 + place, words[n]) for place, n in enumerate(counts)]


def test_speculation_is_said_where_it_ran(trace: Trace) -> None:
    path = trace([5, 6, 7])
    path.write_text(path.read_text().replace('"drafted": false', '"drafted": true', 2))
    assert heading(series_of(path))[1].endswith(" · 2 of 4 tokens drafted")


def test_turns_are_told_apart_and_those_without_a_gap_left_out(
    tmp_path: Path, trace: Trace
) -> None:
    turns = [trace([5] * many, turn=many, name=f"{many}").read_text() for many in (0, 1, 2)]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(turns))
    assert [one.label for one in series_of(path)] == ["turn 1", "turn 2"]
    other = trace([7], name="other.jsonl")
    labels = [one.label for one in series_of(path, other)]
    assert labels == ["chat.jsonl · turn 1", "chat.jsonl · turn 2", "other.jsonl"]


def test_equal_names_are_told_apart_by_their_folders(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "a").mkdir()
    one, two = trace([5]), trace([5], name="a/t.jsonl")
    assert [series.label for series in series_of(one, two)] == [str(one), str(two)]


def test_the_gap_axis_is_logarithmic_where_the_spread_asks_for_it(trace: Trace) -> None:
    near = gap_axis(series_of(trace([20, 21, 79])))
    far = gap_axis(series_of(trace([20, 21, 85])))
    assert (near.log, far.log) == (False, True)
    assert gap_label(near) == "gap between tokens (ms)"
    assert gap_label(far) == "gap between tokens (ms, log scale)"
    apart = series_of(trace([20, 21], name="a"), trace([200, 210], name="b"))
    assert gap_axis(apart).log


def test_all_tokens_have_room(trace: Trace) -> None:
    axis = token_axis(series_of(trace([5] * 3, name="a"), trace([5] * 100, name="b")))
    assert axis.low == 0 and 100 < axis.high < 110


def test_bins_are_freedman_and_diaconis_within_what_can_be_seen(trace: Trace) -> None:
    # 1000 even gaps over half of the axis: an IQR of a quarter, and 1000 ** (1/3) = 10
    (even,) = series_of(trace([10 + 10 * place / 999 for place in range(1000)]))
    assert bin_count([even], Axis(low=5, high=25)) == 20
    (few,) = series_of(trace([10, 20]))
    assert bin_count([few], Axis(low=5, high=25)) == 16
    (equal,) = series_of(trace([10] * 9))
    assert bin_count([equal], Axis(low=5, high=25)) == 120


def test_shares_are_percent(trace: Trace) -> None:
    (one,) = series_of(trace([10, 10, 10, 20]))
    assert one.shares(Axis(low=5, high=25), 2) == [75, 25]
