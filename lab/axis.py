"""The axis of a diagram: where values stand on it, which of them are named, and how.

Numbers only, the same for a picture and for a terminal. Positions go from 0 (low) to 1 (high).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 5.0)
"""Times a power of ten: the distances that people count in."""
_LOG_TICKS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""The same on a logarithmic axis, from many to few."""
_FEWEST = 3
"""Ticks on a logarithmic axis: one that has room and no more of them is named as a linear one."""

_DEEPEST = 1e-9
"""Of the highest value: nothing stands lower on a logarithmic axis, whatever else there is."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A range of values, low < high; positive where it is logarithmic."""

    low: float
    high: float
    log: bool = False
    whole: bool = False
    """Whether only whole numbers are named."""

    def position(self, value: float) -> float:
        """Where a value stands; what lies outside stands at the edge."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, position: float) -> float:
        """What stands there: the inverse of `position`."""
        if self.log:
            return self.low * math.pow(self.high / self.low, position)
        return self.low + (self.high - self.low) * position

    def ticks(self, most: int) -> list[float]:
        """Round values to name: at most that many, but two or three where even that is little."""
        found = self._log_ticks(most) if self.log else []
        return found if len(found) >= min(_FEWEST, most) else self._linear_ticks(most)

    def _log_ticks(self, most: int) -> list[float]:
        powers = range(_power(self.low), _power(self.high) + 1)
        found: list[float] = []
        for factors in _LOG_TICKS:
            more, found = (
                found,
                self._inside(factor * 10.0**power for power in powers for factor in factors),
            )
            if len(found) <= most:
                return found if len(found) >= _FEWEST else more or found
        every = -(-len(powers) // max(1, most))
        return self._inside(10.0**power for power in powers if power % every == 0)

    def _linear_ticks(self, most: int) -> list[float]:
        found: list[float] = []
        for step in self._steps(most):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            more, found = found, [number * step for number in range(first, last + 1)]
            if len(found) <= most:
                break
        return found if len(found) > 1 else more or found

    def _steps(self, most: int) -> Iterator[float]:
        """Round distances, ascending: with the first there are too many ticks, or about enough."""
        power = _power((self.high - self.low) / max(1, most))
        for factor in (*_STEPS, *(10 * one for one in _STEPS)):
            step = factor * 10.0**power
            if step >= 1 or not self.whole:
                yield step

    def _inside(self, values: Iterable[float]) -> list[float]:
        slack = 1 + 1e-9
        return [value for value in values if self.low / slack <= value <= self.high * slack]


def _power(value: float) -> int:
    return math.floor(math.log10(value))


def labels(ticks: Sequence[float]) -> list[str]:
    """Their names, with as many decimals as tell them apart."""
    if not ticks:
        return []
    steps = [after - before for before, after in zip(ticks, ticks[1:], strict=False)]
    uneven = bool(steps) and max(steps) > 1.5 * min(steps)
    return [_name(tick, tick if uneven else min(steps, default=tick)) for tick in ticks]


def _name(value: float, step: float) -> str:
    decimals = max(0, -_power(step * (1 + 1e-9))) if step > 0 else 0
    return f"{value:,.{decimals}f}"


def linear(values: Sequence[float]) -> Axis:
    """An axis that holds them with a little air; from 0 on if that is not far."""
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    if 0 <= low < 0.4 * high:
        return Axis(low=0.0, high=high * 1.05)
    return Axis(low=max(0.0, low - span * 0.1) if low >= 0 else low - span * 0.1,
                high=high + span * 0.1)  # fmt: skip


def logarithmic(values: Sequence[float]) -> Axis:
    """The same for what spreads over orders of magnitude; one of them must be above 0."""
    high = max(values)
    low = min(value for value in values if value > high * _DEEPEST)
    air = max((high / low) ** 0.06, 1.05)
    return Axis(low=low / air, high=high * air, log=True)


def histogram(values: Sequence[float], axis: Axis, bins: int) -> list[int]:
    """How many of the values fall into each of that many equally wide parts of the axis."""
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int(axis.position(value) * bins))] += 1
    return counts
