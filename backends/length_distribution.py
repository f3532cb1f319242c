"""How long outputs are: percentiles, shares and bins of a distribution, exactly.

Made from counts, so that a million lengths cost no more than the different ones among them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

_STEPS = (1, 2, 5)
_MOST_SINGLE = 12
"""Up to this length each has a bin of its own."""


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Lengths from `low` to `high`, both included, and how many there are."""

    low: int
    high: int
    count: int


class Lengths:
    """A multiset of lengths, in tokens."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        """counts: how many there are of each length."""
        self._values = sorted(length for length, count in counts.items() if count)
        self._upto = list(accumulate(counts[length] for length in self._values))
        """How many lengths are no longer than each value."""
        self.count = self._upto[-1] if self._upto else 0
        self.total = sum(length * count for length, count in counts.items())

    @property
    def longest(self) -> int | None:
        """None without a length."""
        return self._values[-1] if self._values else None

    def percentile(self, percent: float) -> float | None:
        """Interpolated between the two nearest; None without a length."""
        found = self.percentiles_from(0, (percent,))
        return found[0] if found else None

    def percentiles_from(self, least: int, percents: Sequence[float]) -> list[float]:
        """The same of those alone that are at least so long; [] without any."""
        reaching = self.reaching(least)
        if not reaching:
            return []
        found = []
        for percent in percents:
            position = self.count - reaching + (reaching - 1) * percent / 100
            below = int(position)
            low, high = self._nth(below), self._nth(min(below + 1, self.count - 1))
            found.append(low + (high - low) * (position - below))
        return found

    def reaching(self, length: int) -> int:
        """How many are at least so long."""
        index = bisect_left(self._values, length)
        return self.count - (self._upto[index - 1] if index else 0)

    def longest_ones(self, percent: float) -> tuple[int, float | None]:
        """How many the longest `percent` are, at least one, and their share of all tokens."""
        most = min(self.count, max(1, -int(-self.count * percent // 100)))
        if not self.total:
            return most, None
        tokens, left = 0, most
        for index in range(len(self._values) - 1, -1, -1):
            here = self._upto[index] - (self._upto[index - 1] if index else 0)
            tokens += self._values[index] * min(left, here)
            left -= min(left, here)
            if not left:
                break
        return most, tokens / self.total

    def bins(self) -> list[Bin]:
        """All of them in bins that grow with the length, without a gap from first to last."""
        if not self._values:
            return []
        starts = _starts(self._values[-1])
        edges = zip(starts, [start - 1 for start in starts[1:]], strict=False)
        found = [
            Bin(low=low, high=high, count=self.reaching(low) - self.reaching(high + 1))
            for low, high in edges
        ]
        filled = [index for index, one in enumerate(found) if one.count]
        return found[filled[0] : filled[-1] + 1]

    def _nth(self, index: int) -> int:
        """In ascending order, from 0."""
        return self._values[bisect_right(self._upto, index)]


def _starts(longest: int) -> Sequence[int]:
    """Where bins begin: 0, 1, 2, 5, 10, 20, …; the last is beyond the longest."""
    if longest <= _MOST_SINGLE:
        return range(longest + 2)
    starts, unit = [0], 1
    while starts[-1] <= longest:
        starts += [step * unit for step in _STEPS]
        unit *= 10
    return starts
