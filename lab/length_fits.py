"""Families of distributions fitted to lengths by maximum likelihood, and ranked.

An answer that ended counts with the probability of its length, one that was cut with that of its
length or more; where longer answers are missing, all probabilities are of those up to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from nextok.lab.length_families import FAMILIES
from nextok.lab.length_family import Family, Moments
from nextok.lab.length_sample import Floats, Integers, Sample

_LEAST = 1e-300
"""A probability so small that its logarithm is just a number."""
_FARTHEST = 40.0
"""Of a free parameter: e to that power is no length and no shape."""
_FIRST_STEP, _NEXT_STEP = 0.3, 2.0
"""Of a search from a guess, and of one from a fit to similar data: there over the root of their
number, as chance moves a parameter."""
_PRECISE, _ENOUGH = 1e-4, 0.03
"""How near a search has to come: absolute, and in such steps."""
_MOST_TRIALS = 800


@dataclass(frozen=True, kw_only=True)
class Fit:
    """One family with the parameters that make the data most probable."""

    family: Family
    free: Floats
    log_likelihood: float
    missing_over: int | None = None
    """Longer answers are not in the data, nor in what the methods say."""

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better, and 10 less is much."""
        return 2 * len(self.free) - 2 * self.log_likelihood

    @property
    def parameters(self) -> dict[str, float]:
        """By name, as a person reads them."""
        return self.family.read(self.free)

    def below(self, length: Floats) -> Floats:
        """P(L ≤ length)."""
        found, _ = self.family.shares(length + 0.5, self.free)
        return np.asarray(np.minimum(found / self._seen, 1.0))

    def above(self, length: Floats) -> Floats:
        """P(L > length), exact where it is small."""
        if self.missing_over is not None:
            return np.asarray(1 - self.below(length))
        return self.family.shares(length + 0.5, self.free)[1]

    def quantile(self, share: Floats, most: int) -> Integers:
        """The shortest length that so large a share does not exceed, or `most`."""
        low = np.full(share.shape, -1, dtype=np.int64)
        high = np.full(share.shape, most, dtype=np.int64)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            reached = self.below(middle.astype(np.float64)) >= share
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    @property
    def _seen(self) -> float:
        """The share of all answers that can be in the data."""
        return _seen(self.family, self.free, self.missing_over)


def fits(sample: Sample) -> list[Fit]:
    """Every family fitted, the best by AIC first."""
    return sorted((fitted(family, sample) for family in FAMILIES), key=lambda one: one.aic)


def weights(found: Sequence[Fit]) -> list[float]:
    """Akaike's weights: how probable each is to be the best of them."""
    best = min(one.aic for one in found)
    relative = [float(np.exp((best - one.aic) / 2)) for one in found]
    return [one / sum(relative) for one in relative]


def fitted(family: Family, sample: Sample) -> Fit:
    """A family's most probable parameters."""
    start = family.free(family.start(_moments(sample)))
    return _searched(family, sample, start, _FIRST_STEP, _PRECISE)


def refitted(fit: Fit, sample: Sample) -> Fit:
    """The same family fitted to data like those of the fit: faster, and precise enough."""
    step = _NEXT_STEP / np.sqrt(sample.count)
    return _searched(fit.family, sample, fit.free, step, _ENOUGH * step)


def _searched(family: Family, sample: Sample, start: Floats, step: float, precision: float) -> Fit:
    """Nelder and Mead's search: it needs no slopes, and few trials for two or three numbers."""
    simplex = np.vstack((start, start + step * np.eye(len(start))))
    found = minimize(
        lambda free: -log_likelihood(family, free, sample),
        start,
        method="Nelder-Mead",
        options={
            "initial_simplex": simplex, "xatol": precision, "fatol": 10 * precision,
            "maxfev": _MOST_TRIALS,
        },
    )  # fmt: skip
    return Fit(
        family=family, free=family.limited(np.asarray(found.x, dtype=np.float64)),
        log_likelihood=-float(found.fun), missing_over=sample.missing_over,
    )  # fmt: skip


def log_likelihood(family: Family, free: Floats, sample: Sample) -> float:
    """How probable the parameters make the data; very small where they are out of all bounds."""
    excess = float(np.maximum(np.abs(free) - _FARTHEST, 0).sum())
    if excess:
        return -1e300 * (1 + excess / 1e6)
    below, above = family.shares(sample.edges, free)
    lower, upper = sample.edge_places
    # The difference of two numbers near 1 has no digits left, but that of their complements has.
    inside = np.where(below[upper] < 0.5, below[upper] - below[lower], above[lower] - above[upper])
    total = sample.ended @ _logarithm(inside) + sample.cut @ _logarithm(above[lower])
    return float(total - sample.count * np.log(_seen(family, free, sample.missing_over)))


def _logarithm(probability: Floats) -> Floats:
    return np.asarray(np.log(np.fmax(probability, _LEAST)))


def _seen(family: Family, free: Floats, missing_over: int | None) -> float:
    if missing_over is None:
        return 1.0
    below, _ = family.shares(np.array([missing_over + 0.5]), free)
    return max(float(below[0]), _LEAST)


def _moments(sample: Sample) -> Moments:
    """Of the lengths as they stand, cut or not."""
    counts = sample.ended + sample.cut
    logarithms = np.log(np.maximum(sample.lengths, 0.5))
    mean, log_mean = (
        float(np.average(one, weights=counts)) for one in (sample.lengths, logarithms)
    )
    variance = float(np.average((sample.lengths - mean) ** 2, weights=counts))
    log_variance = float(np.average((logarithms - log_mean) ** 2, weights=counts))
    return Moments(
        mean=mean, variance=variance, log_mean=log_mean, log_deviation=float(np.sqrt(log_variance))
    )  # fmt: skip
