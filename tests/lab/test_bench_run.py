"""A benchmark while it runs, with benches whose times are known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nextok.generation.abort import Aborted
from nextok.lab.bench_plan import Kind, Measure, Plan, Step, Subject
from nextok.lab.bench_run import Pace, Progress, Sample, run
from nextok.lab.workbench import Timed

READ, WRITE = 0.25, 2.0
"""Seconds a token."""
PLAN = Plan(prefill=(8, 16), depths=(0,), tokens=4, rounds=2, threads=(1, 2))


class Bench:
    """Takes its time, and one more second beside what it says; ends at will."""

    def __init__(self, ends_after: int = 1000) -> None:
        self.now = 0.0
        self.taken: list[tuple[Measure, int]] = []
        self.warmed_up: list[int] = []
        self._ends_after = ends_after

    def clock(self) -> float:
        return self.now

    def warm_up(self, threads: int) -> None:
        self.warmed_up.append(threads)

    def take(self, measure: Measure, threads: int) -> Timed:
        if len(self.taken) == self._ends_after:
            raise Aborted
        self.taken.append((measure, threads))
        each = READ if measure.kind is Kind.PREFILL else WRITE
        self.now += each * measure.tokens
        return Timed(tokens=measure.tokens, seconds=each * measure.tokens)


def running(bench: Bench, heard: list[Progress]) -> Iterator[Sample]:
    return run(PLAN, [bench], clock=bench.clock, listener=heard.append)


def test_everything_is_measured_in_the_plans_order() -> None:
    bench = Bench()
    samples = list(running(bench, []))
    assert [sample.step for sample in samples] == list(PLAN.steps())
    assert bench.taken == [(one.measure, one.subject.threads) for one in PLAN.steps()]
    assert bench.warmed_up == [1, 2]


def test_what_was_measured_before_an_abort_is_there() -> None:
    samples = []
    with pytest.raises(Aborted):
        for sample in running(Bench(ends_after=3), []):
            samples.append(sample)
    assert len(samples) == 3


def test_the_time_that_is_left_is_known_once_both_kinds_were_seen() -> None:
    heard: list[Progress] = []
    bench = Bench()
    ends = [bench.now for _ in running(bench, heard)]
    assert heard[0].step is None
    told = heard[1:]
    assert [one.done for one in told] == list(range(len(ends)))
    first = next(index for index, one in enumerate(told) if one.left_seconds is not None)
    kinds = [one.step.measure.kind for one in told[:first] if one.step is not None]
    assert set(kinds) == {Kind.DECODE, Kind.PREFILL}
    starts = [0.0, *ends]
    left = [one.left_seconds for one in told[first:]]
    assert left == [pytest.approx(ends[-1] - at) for at in starts[first : len(told)]]


def test_a_step_is_judged_by_itself_before_others_of_its_kind() -> None:
    pace, one = Pace(), Subject(0, 1)
    long, short = Measure(Kind.PREFILL, 0, 100), Measure(Kind.PREFILL, 0, 10)
    pace.add(Step(0, short, one), 10.0)
    assert pace.seconds([Step(0, long, one)]) == 100.0
    pace.add(Step(0, long, one), 300.0)
    assert pace.seconds([Step(1, long, one), Step(1, short, one)]) == 310.0
    assert pace.seconds([Step(1, Measure(Kind.DECODE, 0, 1), one)]) is None
