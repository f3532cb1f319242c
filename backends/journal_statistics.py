"""What the journal says of many generations: how they ended, how long they were, how fast.

Promises figures that follow from the rows alone, each over generations. What aborting has saved is
an estimate and comes with what it rests on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nextok.backends.journal_queries import (
    ITL_MAX,
    ITL_P50,
    ITL_P95,
    ITL_P99,
    TTFT,
    JournalQueries,
    LengthCount,
)
from nextok.backends.journal_row import LoggedModel
from nextok.backends.length_distribution import Lengths
from nextok.generation.finish import FinishReason

ABORTED = (
    FinishReason.INTERRUPTED,
    FinishReason.DISCONNECTED,
    FinishReason.TIMEOUT,
    FinishReason.STALLED,
)
"""Endings from outside: the model would have gone on."""
COMPLETED = (FinishReason.EOS, FinishReason.STOP, FinishReason.LENGTH)
"""Endings that answer: their lengths are what an aborted one might have reached."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Percentiles of one figure, in seconds."""

    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, kw_only=True)
class ModelLatency:
    """How fast a model was."""

    model: LoggedModel
    generations: int
    ttft: Spread | None
    """Over generations."""
    itl: Spread | None
    """The median generation's p50, p95 and p99; the longest gap of all."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """Seconds of decoding that were not done because generations were aborted: an estimate.

    For each, the median of what completed ones of its model still had to say when they had got as
    far, times the model's median ITL. `low` and `high` take the quartiles instead of the median.
    """

    seconds: float
    low: float
    high: float
    aborted: int
    """Generations it is the sum over."""
    unknown: int
    """Those for which no completed one got as far: they are not in the sum."""
    completed: int
    """Generations they were compared with."""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Of all generations that were asked about."""

    generations: int
    finishes: Mapping[str, int]
    """How many ended so; the most frequent first."""
    aborted: int
    saved: Saved
    lengths: Lengths
    latencies: Sequence[ModelLatency]
    """By model, the most used first."""


def statistics(queries: JournalQueries, models: Sequence[LoggedModel]) -> Statistics:
    """Ask for everything. Raises sqlite3.Error."""
    lengths = {model.id: queries.lengths(model) for model in models}
    everything = [one for found in lengths.values() for one in found]
    latencies = [
        _latency(queries, model, _total(lengths[model.id])) for model in models if lengths[model.id]
    ]
    finishes: Counter[str] = Counter()
    for one in everything:
        finishes[one.finish] += one.generations
    return Statistics(
        generations=_total(everything),
        finishes=dict(finishes.most_common()),
        aborted=sum(finishes[reason.value] for reason in ABORTED),
        saved=_sum([_saved(lengths[one.model.id], one.itl) for one in latencies]),
        lengths=_lengths(everything),
        latencies=sorted(latencies, key=lambda one: -one.generations),
    )


def _latency(queries: JournalQueries, model: LoggedModel, generations: int) -> ModelLatency:
    ttft = ((TTFT, 50), (TTFT, 95), (TTFT, 99), (TTFT, 100))
    itl = ((ITL_P50, 50), (ITL_P95, 50), (ITL_P99, 50), (ITL_MAX, 100))
    return ModelLatency(
        model=model,
        generations=generations,
        ttft=_spread(queries, model, generations, ttft),
        itl=_spread(queries, model, generations, itl),
    )


def _spread(
    queries: JournalQueries,
    model: LoggedModel,
    generations: int,
    wanted: Sequence[tuple[str, float]],
) -> Spread | None:
    """Four percentiles of figures that exist together; None where they never do."""
    count = generations - queries.without(wanted[0][0], model)
    if not count:
        return None
    p50, p95, p99, most = (
        queries.percentile(figure, model, percent, count=count) for figure, percent in wanted
    )
    return Spread(p50=p50, p95=p95, p99=p99, max=most)


def _saved(lengths: Sequence[LengthCount], itl: Spread | None) -> Saved:
    """By the aborted generations of one model."""
    completed = _lengths([one for one in lengths if one.finish in COMPLETED])
    sums, known, unknown = [0.0, 0.0, 0.0], 0, 0
    for one in (one for one in lengths if one.finish in ABORTED):
        reached = one.completion_tokens
        ends = completed.percentiles_from(reached, (50, 25, 75))
        if itl is None or not ends:
            unknown += one.generations
            continue
        known += one.generations
        for index, end in enumerate(ends):
            sums[index] += (end - reached) * itl.p50 * one.generations
    return Saved(
        seconds=sums[0],
        low=sums[1],
        high=sums[2],
        aborted=known,
        unknown=unknown,
        completed=completed.count if known else 0,
    )


def _sum(saved: Sequence[Saved]) -> Saved:
    return Saved(
        seconds=sum(one.seconds for one in saved),
        low=sum(one.low for one in saved),
        high=sum(one.high for one in saved),
        aborted=sum(one.aborted for one in saved),
        unknown=sum(one.unknown for one in saved),
        completed=sum(one.completed for one in saved),
    )


def _lengths(found: Sequence[LengthCount]) -> Lengths:
    counts: Counter[int] = Counter()
    for one in found:
        counts[one.completion_tokens] += one.generations
    return Lengths(counts)


def _total(found: Sequence[LengthCount]) -> int:
    return sum(one.generations for one in found)
