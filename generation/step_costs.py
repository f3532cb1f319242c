"""What a pass over several rows costs, and what a guess costs, in passes over one row.

Promises figures that are learned from the times of the steps themselves and that a busy moment
does not spoil. Reads no clock.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol

_SETTLED = 3
"""Plain steps after which their time is known: the first ones warm up."""
_FORGETS = 1.02
"""A best time is forgotten by so much a step, so that it follows a text that grows longer."""
_HOPED_FOR = 0.25
"""What another row is taken to cost before any was measured."""


class Costs(Protocol):
    """Costs in units of one plain step."""

    @property
    def is_known(self) -> bool:
        """Whether the plain step's time is known."""

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

    def __init__(self) -> None:
        self._plain: float | None = None
        """The best time of a plain step, in seconds."""
        self._plain_steps = 0
        self._rows: dict[int, float] = {1: 1.0}
        self._measured = [1]
        """The keys of `_rows`, in order."""
        self._drafting: float | None = None
        """Seconds a token."""

    @property
    def is_known(self) -> bool:
        return self._plain_steps >= _SETTLED

    @property
    def explored(self) -> int:
        return self._measured[-1]

    @property
    def drafting(self) -> float:
        if self._drafting is None or not self._plain:
            return 0.0
        return self._drafting / self._plain

    def rows(self, count: int) -> float:
        """Between two measured counts the straight line, beyond the last one its slope so far."""
        place = bisect_left(self._measured, count)
        if place == len(self._measured):
            most = self._measured[-1]
            slope = (self._rows[most] - 1) / (most - 1) if most > 1 else _HOPED_FOR
            return self._rows[most] + (count - most) * slope
        above = self._measured[place]
        if above == count:
            return self._rows[count]
        below = self._measured[place - 1]
        share = (count - below) / (above - below)
        return self._rows[below] + share * (self._rows[above] - self._rows[below])

    def passed(self, rows: int, seconds: float) -> None:
        if rows == 1:
            self._plain_steps += 1
            self._plain = _best(self._plain, seconds)
        elif self._plain:
            if rows not in self._rows:
                self._measured.insert(bisect_left(self._measured, rows), rows)
            # Kept as a ratio: what slows all passes alike changes nothing.
            self._rows[rows] = max(1.0, _best(self._rows.get(rows), seconds / self._plain))

    def drafted(self, tokens: int, seconds: float) -> None:
        self._drafting = _best(self._drafting, seconds / tokens)


class AssumedCosts:
    """The same costs in every run and on every machine, so that a run can be repeated."""

    is_known = True
    explored = 1 << 30

    def __init__(self, *, drafting: float, row: float = 0.5) -> None:
        """row: what another row costs. Engines on CPUs take from 0.2 to 0.9, on GPUs less."""
        self.drafting = drafting
        self._row = row

    def rows(self, count: int) -> float:
        return 1 + (count - 1) * self._row

    def passed(self, rows: int, seconds: float) -> None:
        """Learns nothing."""

    def drafted(self, tokens: int, seconds: float) -> None:
        """Learns nothing."""


def _best(known: float | None, new: float) -> float:
    """What it takes when nothing else runs: other processes only ever add to it."""
    return new if known is None else min(new, known * _FORGETS)
