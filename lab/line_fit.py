"""A straight line through noisy points, which a few wild ones cannot bend.

Theil (1950) and Sen (1968): the slope is the median of the slopes of all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_MOST_POINTS = 800
"""Of more, every so manyth is taken: pairs grow with the square."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """y = intercept + slope · x."""

    intercept: float
    slope: float

    def at(self, x: float) -> float:
        """Its height there."""
        return self.intercept + self.slope * x

    def area(self, x: float) -> float:
        """Below it, from 0 to there."""
        return (self.intercept + self.slope * x / 2) * x

    def reaches(self, total: float, *, start: float = 0.0) -> float:
        """The x up to which the area under the line from 0, and `start`, are that total.

        Infinity where it never is.
        """
        left = total - start
        if left <= 0:
            return 0.0
        if abs(self.slope) < 1e-15:
            return left / self.intercept if self.intercept > 0 else math.inf
        inner = self.intercept**2 + 2 * self.slope * left
        if inner < 0:
            return math.inf
        found = (math.sqrt(inner) - self.intercept) / self.slope
        return found if found >= 0 else math.inf


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line | None:
    """Through these points; None for fewer than three, or for one place."""
    every = -(-len(x) // _MOST_POINTS) or 1
    points = list(zip(x[::every], y[::every], strict=True))
    slopes = [
        (high - low) / (right - left)
        for place, (left, low) in enumerate(points)
        for right, high in points[place + 1 :]
        if right != left
    ]
    if len(points) < 3 or not slopes:
        return None
    slope = median(slopes)
    return Line(intercept=median(up - slope * at for at, up in points), slope=slope)
