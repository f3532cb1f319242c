"""A family of distributions of lengths, given by its distribution function.

Knows no family by name, and no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nextok.lab.length_sample import Floats

Shares: TypeAlias = tuple[Floats, Floats]
"""P(X ≤ x), and P(X > x) exact where it is small."""


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What a first guess of parameters is made from."""

    mean: float
    variance: float
    log_mean: float
    log_deviation: float
    """Of logarithms, those of lengths above 0."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of distributions of lengths from 0 on.

    Parameters are kept as `free` numbers, any of which is valid: most are logarithms of what a
    person reads.
    """

    name: str
    parameters: Sequence[str]
    logarithmic: Sequence[bool]
    """Which of the free parameters are logarithms."""
    inside: Callable[[Floats, Floats], Shares]
    """At places from 0 on, for free parameters."""
    start: Callable[[Moments], Sequence[float]]
    """Parameters, as a person reads them, to begin a search from."""
    limited: Callable[[Floats], Floats] = lambda free: free
    """Free parameters of the same shares, none larger than makes a difference."""

    def shares(self, x: Floats, free: Floats) -> Shares:
        """At any places, in ascending order where there are several."""
        with np.errstate(all="ignore"):  # far from any likelihood, powers overflow: to no harm
            below, above = self.inside(np.maximum(x, 0.0), free)
        negative = x < 0
        below[negative], above[negative] = 0.0, 1.0
        return below, above

    def free(self, read: Sequence[float]) -> Floats:
        """Free parameters from those that a person reads."""
        values = np.array(read, dtype=np.float64)
        logarithms = np.log(np.maximum(values, 1e-12))
        return np.where(self.logarithmic, logarithms, values)

    def read(self, free: Floats) -> dict[str, float]:
        """The inverse of `free`, by name."""
        values = [
            float(np.exp(value)) if log else float(value)
            for value, log in zip(free, self.logarithmic, strict=True)
        ]
        return dict(zip(self.parameters, values, strict=True))
