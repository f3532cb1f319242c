"""How sure a figure is: the same figure of many samples drawn from the sample itself.

Promises the same draws for the same seed. Knows no figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nextok.backends.length_distribution import Lengths

CONFIDENCE = 0.95
_ENDS = (100 * (1 - CONFIDENCE) / 2, 100 * (1 + CONFIDENCE) / 2)


class Interval(NamedTuple):
    """Where a figure is, with CONFIDENCE."""

    low: float
    high: float


def resampled(
    counts: Mapping[int, int], draws: int, generator: np.random.Generator
) -> Iterator[Lengths]:
    """As many lengths as there are, drawn from them with replacement, so many times.

    counts: how many there are of each length.
    """
    lengths = list(counts)
    each = np.fromiter(counts.values(), dtype=np.float64)
    count = int(each.sum())
    for _ in range(draws):
        drawn = generator.multinomial(count, each / each.sum()).tolist()
        yield Lengths(dict(zip(lengths, drawn, strict=True)))


def interval(figures: Sequence[float]) -> Interval:
    """By the percentiles of the figures of all draws."""
    low, high = np.percentile(figures, _ENDS)
    return Interval(float(low), float(high))
