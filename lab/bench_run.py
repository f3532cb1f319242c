"""A benchmark while it runs: one measurement after the other, and how long it will still take.

What is measured already stays good whatever comes after it: an abort, or an engine that fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple, Protocol, TypeAlias

from nextok.lab.bench_plan import Kind, Measure, Plan, Step, Subject
from nextok.lab.workbench import Timed


class Sample(NamedTuple):
    """One measurement and what it came to."""

    step: Step
    timed: Timed


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What is about to be done."""

    step: Step | None
    """None: warming up."""
    done: int
    total: int
    left_seconds: float | None
    """Until all is done; None where that cannot be told yet."""


Listener: TypeAlias = Callable[[Progress], None]


class Bench(Protocol):
    """What measures: a Workbench, or a test's own."""

    def warm_up(self, threads: int) -> None: ...

    def take(self, measure: Measure, threads: int) -> Timed: ...


def run(
    plan: Plan, benches: Sequence[Bench], *, clock: Callable[[], float], listener: Listener
) -> Iterator[Sample]:
    """Measure all that is planned. benches: one a model. Raises Aborted and EngineError."""
    steps, pace = list(plan.steps()), Pace()
    listener(Progress(step=None, done=0, total=len(steps), left_seconds=None))
    for subject in plan.subjects:
        benches[subject.model].warm_up(subject.threads)
    for done, step in enumerate(steps):
        left = pace.seconds(steps[done:])
        listener(Progress(step=step, done=done, total=len(steps), left_seconds=left))
        began = clock()
        timed = benches[step.subject.model].take(step.measure, step.subject.threads)
        pace.add(step, clock() - began)
        yield Sample(step, timed)


_Key: TypeAlias = tuple[Measure, Subject] | tuple[Kind, Subject] | Kind


class Pace:
    """What steps have taken, and so what others will."""

    def __init__(self) -> None:
        self._taken: dict[_Key, list[float]] = defaultdict(list)
        """Seconds a token."""

    def add(self, step: Step, seconds: float) -> None:
        """A step took so long, with all that was not timed of it."""
        for key in _keys(step):
            self._taken[key].append(seconds / step.measure.tokens)

    def seconds(self, steps: Sequence[Step]) -> float | None:
        """For all of these; None where there is nothing to judge one by."""
        total = 0.0
        for step in steps:
            known = next((key for key in _keys(step) if key in self._taken), None)
            if known is None:
                return None
            total += mean(self._taken[known]) * step.measure.tokens
        return total


def _keys(step: Step) -> Iterator[_Key]:
    """What it may be judged by, the nearest first: what it was before, its like, its kind."""
    measure, subject = step.measure, step.subject
    kind = Kind.PREFILL if measure.kind is Kind.PREFILL else Kind.DECODE
    yield measure, subject
    yield kind, subject
    yield kind
