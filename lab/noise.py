"""What a handful of measurements says, and what it does not: medians, ratios, and their doubt.

No shape of the noise is assumed: how sure a median is follows from the ranks of the values alone
(the sign test's interval), which is what a machine with other work on it allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import comb
from statistics import median

DOUBT = 0.10
"""How often, at most, an interval may miss the true median."""
FEWEST = 5
"""Pairs: with fewer, chance alone gives them all the same sign too often."""


class Finding(Enum):
    """Whether two differ."""

    DIFFERENT = "different"
    NOISE = "within noise"
    UNKNOWN = "too few runs"


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Values in three numbers."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The lowest and the highest there are. At least one value."""
        return cls(median=median(values), low=min(values), high=max(values))


@dataclass(frozen=True, kw_only=True)
class Ratio(Spread):
    """How many times as large one is as the other, taken pair by pair."""

    finding: Finding

    @classmethod
    def of_pairs(cls, ours: Sequence[float], theirs: Sequence[float]) -> Ratio | None:
        """Ours over theirs; `low` to `high` holds the true median, or all where they are few.

        None without a pair whose second value is above 0.
        """
        pairs = zip(ours, theirs, strict=True)
        ratios = sorted(a / b for a, b in pairs if b > 0)
        if not ratios:
            return None
        left_out = outside(len(ratios))
        low, high = ratios[left_out or 0], ratios[-1 - (left_out or 0)]
        finding = Finding.UNKNOWN
        if left_out is not None:
            finding = Finding.NOISE if low <= 1 <= high else Finding.DIFFERENT
        return cls(median=median(ratios), low=low, high=high, finding=finding)


def outside(count: int) -> int | None:
    """How many of so many sorted values may be left out at each end, the rest still holding the
    true median with a doubt of at most `DOUBT`. None: not even all of them do.

    Each value is below the true median with probability 1/2, so the number of those that are is
    binomial.
    """
    missed, left_out = 0.0, -1
    while left_out + 1 < count / 2:
        missed += 2 * comb(count, left_out + 1) / 2**count
        if missed > DOUBT:
            break
        left_out += 1
    return None if left_out < 0 else left_out
