"""A family of distributions of lengths, given by its distribution function.

Knows no family by name, and no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nextok.lab.length_sample import Floats

Function: TypeAlias = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What a first guess of parameters is made from; of lengths above 0 where it is a logarithm."""

    mean: float
    variance: float
    log_mean: float
    log_deviation: float


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of distributions of lengths from 0 on."""

    name: str
    parameters: Sequence[str]
    below: Function
    """P(X ≤ x) for places x ≥ 0 and free parameters."""
    above: Function
    """P(X > x), exact where it is small."""
    start: Callable[[Moments], Sequence[float]]
    """Parameters, as a person reads them, to begin a search from."""
    logarithmic: Sequence[bool]
    """Which of the free parameters are logarithms."""

    def shares(self, x: Floats, free: Floats) -> tuple[Floats, Floats]:
        """P(X ≤ x) and P(X > x) at any places."""
        inside = np.maximum(x, 0.0)
        with np.errstate(all="ignore"):  # far from any likelihood, powers overflow: to no harm
            below, above = self.below(inside, free), self.above(inside, free)
        return np.where(x < 0, 0.0, below), np.where(x < 0, 1.0, above)

    def free(self, read: Sequence[float]) -> Floats:
        """Free parameters from those that a person reads."""
        return np.array(
            [
                np.log(max(value, 1e-12)) if log else value
                for value, log in zip(read, self.logarithmic, strict=True)
            ]
        )

    def read(self, free: Floats) -> dict[str, float]:
        """The inverse of `free`, by name."""
        values = np.where(self.logarithmic, np.exp(free), free)
        return dict(zip(self.parameters, map(float, values), strict=True))
