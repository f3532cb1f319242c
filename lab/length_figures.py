"""The figures of a workload's lengths, each with an interval, and what another costs beside it.

The lengths are those that were generated and so paid for, whether cut or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nextok.backends.length_distribution import Lengths
from nextok.lab.bootstrap import Interval, interval, resampled

_RESAMPLED = ("mean", "p50", "p95", "p99", "top1_share")
"""The longest has no interval: no sample drawn from a sample holds a longer one."""


@dataclass(frozen=True, kw_only=True)
class LengthFigures:
    """What one workload is like, in tokens."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: int
    top1_share: float
    """Of all tokens, those of the longest 1 % of answers, and of one answer at least."""
    top1_count: int
    intervals: Mapping[str, Interval]


@dataclass(frozen=True, kw_only=True)
class CostRatio:
    """What an answer of another workload costs, in answers of this one."""

    source: str
    mean: float
    ratio: float
    """Of the means: each token is one step of the loop, whoever asked for it."""
    interval: Interval


def length_figures(tokens: Sequence[int], draws: int, seed: int) -> LengthFigures:
    """By linear interpolation, intervals from so many draws."""
    counts = Counter(tokens)
    lengths = Lengths(counts)
    drawn = [_figures(one) for one in resampled(counts, draws, np.random.default_rng(seed))]
    mean, p50, p95, p99, share = _figures(lengths)
    return LengthFigures(
        count=lengths.count,
        mean=mean,
        p50=p50,
        p95=p95,
        p99=p99,
        max=lengths.longest or 0,
        top1_share=share,
        top1_count=lengths.longest_ones(1)[0],
        intervals={
            name: interval(column)
            for name, column in zip(_RESAMPLED, zip(*drawn, strict=True), strict=True)
        },
    )


def cost_ratio(
    tokens: Sequence[int], other: Sequence[int], source: str, draws: int, seed: int
) -> CostRatio:
    """Both workloads are drawn again for the interval. source: what the other one is called."""
    generator = np.random.default_rng(seed)
    mine, theirs = (
        [_mean(one) for one in resampled(Counter(each), draws, generator)]
        for each in (tokens, other)
    )
    mean = _mean(Lengths(Counter(other)))
    return CostRatio(
        source=source,
        mean=mean,
        ratio=_ratio(mean, _mean(Lengths(Counter(tokens)))),
        interval=interval(
            [_ratio(above, below) for above, below in zip(theirs, mine, strict=True)]
        ),
    )


def _figures(lengths: Lengths) -> tuple[float, float, float, float, float]:
    p50, p95, p99 = lengths.percentiles_from(0, (50, 95, 99))
    _, share = lengths.longest_ones(1)
    return _mean(lengths), p50, p95, p99, share or 0.0


def _mean(lengths: Lengths) -> float:
    return lengths.total / lengths.count


def _ratio(above: float, below: float) -> float:
    """Answers that are all empty cost nothing: nothing costs as much as one of them."""
    return above / below if below else 0.0
