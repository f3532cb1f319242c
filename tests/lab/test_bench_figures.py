"""Samples made by hand, and what they come to."""

from __future__ import annotations

import pytest

from nextok.lab.bench_figures import figures
from nextok.lab.bench_plan import Kind, Measure, Plan, Subject
from nextok.lab.bench_run import Sample
from nextok.lab.noise import Finding
from nextok.lab.workbench import Timed

PLAN = Plan(prefill=(8,), depths=(0,), tokens=4, rounds=5, threads=(1, 2))


def samples(plan: Plan, upto: int | None = None) -> list[Sample]:
    """The machine slows down with every round; two threads are 1.5 × as fast, the second model
    twice, and the loop takes an eighth more than the bare one."""
    made = []
    for step in list(plan.steps())[:upto]:
        number, measure, (model, threads) = step
        speed = 100.0 / (number + 1) * (1.5 if threads == 2 else 1.0) * (2.0 if model else 1.0)
        count = measure.tokens - (measure.kind in (Kind.ANSWER, Kind.BARE))
        each = (1.125 if measure.kind is Kind.ANSWER else 1.0) / speed
        gaps = (each,) * count if measure.kind is Kind.ANSWER else ()
        first = 8 * each if measure.kind is Kind.ANSWER else None
        timed = Timed(tokens=count, seconds=count * each, gaps=gaps, ttft_seconds=first)
        made.append(Sample(step, timed))
    return made


def test_speeds_are_medians_and_ratios_are_of_rounds() -> None:
    found = figures(PLAN, samples(PLAN))
    assert (found.rounds, found.whole_rounds) == (5, 5)
    read, read_by_two, *written = found.speeds
    assert [one.measure.kind for one in found.speeds] == [Kind.PREFILL] * 2 + [Kind.DECODE] * 2
    assert read.spread.median == pytest.approx(100 / 3) and read.spread.high == pytest.approx(100)
    assert (read.against, read.ratio) == (None, None)
    assert read_by_two.against == Subject(0, 1) and read_by_two.ratio is not None
    assert read_by_two.ratio.low == read_by_two.ratio.high == pytest.approx(1.5)
    assert read_by_two.ratio.finding is Finding.DIFFERENT
    assert [one.subject.threads for one in written] == [1, 2]


def test_of_two_models_the_second_is_held_against_the_first() -> None:
    plan = Plan(prefill=(8,), depths=(), tokens=4, rounds=5, threads=(1, 2), models=2)
    speeds = figures(plan, samples(plan)).speeds
    compared = [(one.subject, one.against) for one in speeds]
    assert compared == [((0, 1), None), ((1, 1), (0, 1)), ((0, 2), None), ((1, 2), (0, 2))]
    assert [one.ratio and round(one.ratio.median, 6) for one in speeds] == [None, 2, None, 2]


def test_answers_have_percentiles_and_the_loops_price() -> None:
    one, two = figures(PLAN, samples(PLAN)).answers
    assert (one.subject, two.subject) == (Subject(0, 1), Subject(0, 2))
    assert one.measure == Measure(Kind.ANSWER, 8, 4)
    assert one.itl.p50 == pytest.approx(1.125 * 0.03) and one.itl.max == pytest.approx(1.125 * 0.05)
    assert one.ttft.p50 == pytest.approx(8 * 1.125 * 0.03)
    assert one.ratio is not None and one.ratio.median == pytest.approx(1 / 1.125)
    assert one.bare is not None and one.bare.median == pytest.approx(100 / 3)


def test_rounds_that_were_cut_short_count_as_far_as_they_went() -> None:
    each = len(list(PLAN.steps())) // PLAN.rounds
    found = figures(PLAN, samples(PLAN, upto=2 * each + 1))
    assert (found.rounds, found.whole_rounds) == (3, 2)
    lengths = {(one.measure.kind, one.subject.threads): len(one.samples) for one in found.speeds}
    first = next(iter(PLAN.steps()))
    assert lengths.pop((first.measure.kind, first.subject.threads)) == 3
    assert set(lengths.values()) == {2}
    ratio = next(one.ratio for one in found.speeds if one.measure == first.measure and one.ratio)
    assert ratio.median == pytest.approx(1.5) and ratio.finding is Finding.UNKNOWN


def test_without_a_whole_round_there_is_what_there_is() -> None:
    found = figures(PLAN, samples(PLAN, upto=1))
    assert (found.whole_rounds, len(found.speeds), found.answers) == (0, 1, ())
    assert figures(PLAN, []).speeds == ()
