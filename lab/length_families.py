"""Five families of distributions for lengths, each by its distribution function.

All are taken at whole tokens: a length k stands for the interval from k − ½ to k + ½, so that
likelihoods can be compared with that of a family which has whole numbers only. Parameters are
kept as `free` numbers, any of which is valid: most are logarithms of what a person reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincc, gammainc, gammaincc, gammaln, ndtr

from nextok.lab.length_family import Family, Moments
from nextok.lab.length_sample import Floats

_TABLE = 1 << 16
"""Lengths whose probabilities are few enough to be added up."""


def _normal_place(x: Floats, free: Floats) -> Floats:
    return np.asarray((np.log(np.maximum(x, 1e-300)) - free[0]) / np.exp(free[1]))


LOGNORMAL = Family(
    name="lognormal",
    parameters=("mu", "sigma"),
    below=lambda x, free: ndtr(_normal_place(x, free)),
    above=lambda x, free: ndtr(-_normal_place(x, free)),
    start=lambda seen: (seen.log_mean, seen.log_deviation),
    logarithmic=(False, True),
)
GAMMA = Family(
    name="gamma",
    parameters=("shape", "scale"),
    below=lambda x, free: gammainc(np.exp(free[0]), x / np.exp(free[1])),
    above=lambda x, free: gammaincc(np.exp(free[0]), x / np.exp(free[1])),
    start=lambda seen: (seen.mean**2 / seen.variance, seen.variance / seen.mean),
    logarithmic=(True, True),
)


def _weibull_hazard(x: Floats, free: Floats) -> Floats:
    return np.asarray((x / np.exp(free[1])) ** np.exp(free[0]))


WEIBULL = Family(
    name="Weibull",
    parameters=("shape", "scale"),
    below=lambda x, free: -np.expm1(-_weibull_hazard(x, free)),
    above=lambda x, free: np.exp(-_weibull_hazard(x, free)),
    # The logarithm of a Weibull variable is Gumbel's: its deviation is π/√6 of 1/shape.
    start=lambda seen: (
        1.283 / seen.log_deviation,
        np.exp(seen.log_mean + 0.577 * seen.log_deviation / 1.283),
    ),
    logarithmic=(True, True),
)


@dataclass(frozen=True, kw_only=True)
class _Join:
    """Where a lognormal body becomes a Pareto tail.

    Density and its slope are continuous there (Scollnik, 2007), which leaves no more to choose:
    the join is `sigma · tail` deviations above the median, whatever share the body then has.
    """

    place: float
    tail: float
    deviations: float
    body: float
    """The share of answers up to `place`."""

    @classmethod
    def of(cls, free: Floats) -> _Join:
        sigma, tail = np.exp(free[1]), np.exp(free[2])
        deviations = sigma * tail
        density = np.exp(-(deviations**2) / 2) / np.sqrt(2 * np.pi)
        weight = deviations * ndtr(deviations)
        return cls(
            place=float(np.exp(np.minimum(free[0] + deviations * sigma, 700))),
            tail=float(tail),
            deviations=float(deviations),
            body=float(weight / (density + weight)),
        )


def _pareto_above(x: Floats, free: Floats) -> Floats:
    join = _Join.of(free)
    tail = (1 - join.body) * (join.place / np.maximum(x, join.place)) ** join.tail
    return np.where(x > join.place, tail, 1 - _pareto_body(x, free, join))


def _pareto_below(x: Floats, free: Floats) -> Floats:
    join = _Join.of(free)
    return np.where(x > join.place, 1 - _pareto_above(x, free), _pareto_body(x, free, join))


def _pareto_body(x: Floats, free: Floats, join: _Join) -> Floats:
    return np.asarray(join.body * ndtr(_normal_place(x, free)) / ndtr(join.deviations))


PARETO_TAIL = Family(
    name="Pareto tail",
    parameters=("mu", "sigma", "tail"),
    below=_pareto_below,
    above=_pareto_above,
    start=lambda seen: (seen.log_mean, seen.log_deviation, 1.5 / seen.log_deviation),
    logarithmic=(False, True, True),
)


@dataclass(frozen=True, kw_only=True)
class _Counts:
    """A negative binomial distribution, by its mean and its size."""

    size: float
    chance: float

    @classmethod
    def of(cls, free: Floats) -> _Counts:
        mean, size = np.exp(free)
        return cls(size=float(size), chance=float(size / (size + mean)))

    def below(self, x: Floats) -> Floats:
        return self._looked_up(x, lambda: np.cumsum(self._each(x)), betainc)

    def above(self, x: Floats) -> Floats:
        return self._looked_up(x, lambda: self._tail(x), betaincc)

    def _tail(self, x: Floats) -> Floats:
        each = self._each(x)
        beyond = betaincc(self.size, float(len(each)), self.chance)
        return np.asarray(beyond + np.append(np.cumsum(each[:0:-1])[::-1], 0.0))

    def _each(self, x: Floats) -> Floats:
        """The probabilities of 0, 1, 2, … up to the highest place."""
        k = np.arange(int(x.max()) + 1)
        logarithm = (
            gammaln(k + self.size) - gammaln(k + 1) - gammaln(self.size)
            + self.size * np.log(self.chance) + k * np.log1p(-self.chance)
        )  # fmt: skip
        return np.asarray(np.exp(logarithm))

    def _looked_up(
        self, x: Floats, table: Callable[[], Floats], function: Callable[..., Floats]
    ) -> Floats:
        """Sums of few probabilities are faster than the function, a hundred times."""
        whole = np.floor(x).astype(np.int64)
        if x.max() < _TABLE:
            return np.asarray(table()[whole])
        return function(self.size, whole + 1.0, self.chance)


def _size(seen: Moments) -> float:
    """Without overdispersion a negative binomial distribution is nearly Poisson's."""
    return seen.mean**2 / max(seen.variance - seen.mean, 1e-3 * seen.mean)


NEGATIVE_BINOMIAL = Family(
    name="negative binomial",
    parameters=("mean", "size"),
    below=lambda x, free: _Counts.of(free).below(x),
    above=lambda x, free: _Counts.of(free).above(x),
    start=lambda seen: (seen.mean, _size(seen)),
    logarithmic=(True, True),
)
FAMILIES = (LOGNORMAL, GAMMA, WEIBULL, PARETO_TAIL, NEGATIVE_BINOMIAL)
