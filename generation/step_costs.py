"""What a pass over several rows costs, and what a guess costs, in passes over one row.

Promises figures that are learned from the times of the steps themselves and that a busy moment
does not spoil. Reads no clock.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Protocol

_SETTLED = 3
"""Plain steps after which their time is known: the first ones warm up."""
_HOPED_FOR = 0.25
"""What another row is taken to cost before any was measured."""
_DEAREST = 1.2
"""What a row can cost at most: whatever takes longer is somebody else's doing."""


class Costs(Protocol):
    """Costs in units of one plain step."""

    @property
    def is_known(self) -> bool:
        """Whether the plain step's time is known."""

    @property
    def learns(self) -> bool:
        """Whether it is worth a loss to see what something costs."""

    @property
    def explored(self) -> int:
        """The most rows whose cost is more than a guess."""

    @property
    def drafting(self) -> float:
        """Of guessing one token, or of reading one in order to guess the next."""

    def rows(self, count: int) -> float:
        """Of a pass over so many rows; 1 for one row."""

    def passed(self, rows: int, seconds: float) -> None:
        """A pass over so many rows has taken so long."""

    def drafted(self, tokens: int, seconds: float) -> None:
        """Reading and guessing so many tokens has taken so long."""


class MeasuredCosts:
    """Costs as they turn out. What was never measured is hoped to be cheap, and so gets tried."""

    learns = True

    def __init__(self) -> None:
        self._plain = _Typical()
        """Seconds of a plain step."""
        self._drafting = _Typical()
        """Seconds of a token."""
        self._rows: dict[int, _Typical] = {}
        """Ratios: what slows all passes alike changes nothing."""
        self._measured = [1]
        """The counts of rows that are known, in order."""

    @property
    def is_known(self) -> bool:
        return self._plain.count >= _SETTLED

    @property
    def explored(self) -> int:
        return self._measured[-1]

    @property
    def drafting(self) -> float:
        return self._drafting.value / self._plain.value if self._plain.value else 0.0

    def rows(self, count: int) -> float:
        """Between two measured counts the straight line, beyond the last one its slope so far."""
        place = bisect_left(self._measured, count)
        if place == len(self._measured):
            most = self._measured[-1]
            slope = (self._ratio(most) - 1) / (most - 1) if most > 1 else _HOPED_FOR
            return self._ratio(most) + (count - most) * slope
        above = self._measured[place]
        if above == count:
            return self._ratio(count)
        below = self._measured[place - 1]
        share = (count - below) / (above - below)
        return self._ratio(below) + share * (self._ratio(above) - self._ratio(below))

    def passed(self, rows: int, seconds: float) -> None:
        if rows == 1:
            self._plain.add(seconds)
        elif self._plain.value:
            if rows not in self._rows:
                insort(self._measured, rows)
                self._rows[rows] = _Typical()
            self._rows[rows].add(min(seconds / self._plain.value, _DEAREST * rows))

    def drafted(self, tokens: int, seconds: float) -> None:
        self._drafting.add(seconds / tokens)

    def _ratio(self, rows: int) -> float:
        return 1.0 if rows == 1 else self._rows[rows].value


class AssumedCosts:
    """The same costs in every run and on every machine, so that a run can be repeated."""

    is_known = True
    learns = False
    explored = 1 << 30

    def __init__(self, *, drafting: float, row: float) -> None:
        """row: what another row costs. On CPUs from 0.2 to 0.9, on GPUs next to nothing."""
        self.drafting = drafting
        self._row = row

    def rows(self, count: int) -> float:
        return 1 + (count - 1) * self._row

    def passed(self, rows: int, seconds: float) -> None:
        """Learns nothing."""

    def drafted(self, tokens: int, seconds: float) -> None:
        """Learns nothing."""


class _Typical:
    """A moving average on which a single outlier has little hold."""

    __slots__ = ("count", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        self.count += 1
        if self.count > 1:
            value = min(max(value, self.value / 2), self.value * 2)
        self.value += (value - self.value) / min(self.count, 8)
