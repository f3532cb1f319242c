"""What the samples of a benchmark come to: speeds, answers, the loop's price, and who is faster.

Rounds that were cut short count as far as they went; a pair counts where both halves are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nextok.generation.timings import Latency
from nextok.lab.bench_plan import Kind, Measure, Plan, Subject
from nextok.lab.bench_run import Sample
from nextok.lab.noise import Ratio, Spread


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Tokens a second of one pass over the engine."""

    measure: Measure
    subject: Subject
    samples: tuple[float, ...]
    against: Subject | None
    """Who it is compared with."""
    ratio: Ratio | None
    """How many times as fast it is."""

    @property
    def spread(self) -> Spread:
        return Spread.of(self.samples)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Whole generations of one subject. Times in seconds."""

    subject: Subject
    measure: Measure
    ttft: Latency
    """Of the first tokens, a value a round."""
    itl: Latency
    """Of all gaps of all rounds together."""
    loop: Spread
    """Tokens a second of the loop."""
    bare: Spread | None
    """The same of the sampler and the model in turn, without a loop."""
    ratio: Ratio | None
    """The loop's speed over the bare one's."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All of it."""

    rounds: int
    """Those of which something was measured."""
    whole_rounds: int
    speeds: tuple[Speed, ...]
    answers: tuple[Answers, ...]


def figures(plan: Plan, samples: Sequence[Sample]) -> Figures:
    """What they come to, reading before writing; nothing of what was not measured at all."""
    table = _Table(samples)
    by_kind = sorted(plan.passes, key=lambda measure: measure.kind is Kind.DECODE)
    passes = ((measure, subject) for measure in by_kind for subject in plan.subjects)
    each = len(plan.subjects) * (len(plan.passes) + len(plan.loops))
    return Figures(
        rounds=len({sample.step.round for sample in samples}),
        whole_rounds=len(samples) // each,
        speeds=tuple(_speeds(plan, table, passes)),
        answers=tuple(_answers(plan, table)),
    )


class _Table:
    """Samples by what they are of, and by round."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._rows: dict[tuple[Measure, Subject], dict[int, Sample]] = {}
        for sample in samples:
            number, measure, subject = sample.step
            self._rows.setdefault((measure, subject), {})[number] = sample

    def of(self, measure: Measure, subject: Subject) -> list[Sample]:
        return list(self._rows.get((measure, subject), {}).values())

    def speeds(self, measure: Measure, subject: Subject) -> list[float]:
        return [sample.timed.tokens_per_second for sample in self.of(measure, subject)]

    def ratio(self, ours: tuple[Measure, Subject], theirs: tuple[Measure, Subject]) -> Ratio | None:
        """Of the speeds of each round that has both."""
        one, other = self._rows.get(ours, {}), self._rows.get(theirs, {})
        rounds = [number for number in one if number in other]
        return Ratio.of_pairs(
            [one[number].timed.tokens_per_second for number in rounds],
            [other[number].timed.tokens_per_second for number in rounds],
        )


def _speeds(
    plan: Plan, table: _Table, passes: Iterator[tuple[Measure, Subject]]
) -> Iterator[Speed]:
    for measure, subject in passes:
        samples = table.speeds(measure, subject)
        if not samples:
            continue
        other = compared_with(plan, subject)
        yield Speed(
            measure=measure,
            subject=subject,
            samples=tuple(samples),
            against=other,
            ratio=None if other is None else table.ratio((measure, subject), (measure, other)),
        )


def compared_with(plan: Plan, subject: Subject) -> Subject | None:
    """Of two models the second with the first, at the same count; else a count with the first."""
    first = plan.subjects[0]
    if plan.models > 1:
        first = Subject(first.model, subject.threads)
    return None if subject == first else first


def _answers(plan: Plan, table: _Table) -> Iterator[Answers]:
    answer, bare = plan.loops
    for subject in plan.subjects:
        timed = [sample.timed for sample in table.of(answer, subject)]
        ttft = Latency.of([one.ttft_seconds for one in timed if one.ttft_seconds is not None])
        itl = Latency.of([gap for one in timed for gap in one.gaps])
        if ttft is None or itl is None:
            continue
        without = table.speeds(bare, subject)
        yield Answers(
            subject=subject,
            measure=answer,
            ttft=ttft,
            itl=itl,
            loop=Spread.of(table.speeds(answer, subject)),
            bare=Spread.of(without) if without else None,
            ratio=table.ratio((answer, subject), (bare, subject)),
        )
