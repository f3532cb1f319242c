"""Five families of distributions that lengths may come from.

All are taken at whole tokens: a length k stands for the interval from k − ½ to k + ½, so that
likelihoods can be compared with that of a family which has whole numbers only.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, betaincc, gammainc, gammaincc, gammaln, ndtr

from nextok.lab.length_family import Family, Moments, Shares
from nextok.lab.length_sample import Floats

_TABLE = 1 << 16
"""Lengths whose probabilities are few enough to be added up."""
_MOST_SIZE = 1e6
"""Of a negative binomial distribution, in means (of one token at least): there its variance is
Poisson's but for a millionth, and no data tell a larger size."""
_LEAST_HIGH = 0.51
"""Deviations from a body's median to its tail: there half of all lengths are in the body."""
_LEAST = 1e-300
_EULER = 0.5772156649


def _deviations(x: Floats, free: Floats) -> Floats:
    """From the median of a lognormal distribution, on the scale of logarithms."""
    return np.asarray((np.log(np.maximum(x, _LEAST)) - free[0]) / np.exp(free[1]))


def _lognormal(x: Floats, free: Floats) -> Shares:
    deviations = _deviations(x, free)
    return ndtr(deviations), ndtr(-deviations)


def _gamma(x: Floats, free: Floats) -> Shares:
    shape, scale = np.exp(free)
    return gammainc(shape, x / scale), gammaincc(shape, x / scale)


def _weibull(x: Floats, free: Floats) -> Shares:
    shape, scale = np.exp(free)
    hazard = (x / scale) ** shape
    return -np.expm1(-hazard), np.exp(-hazard)


def _weibull_start(seen: Moments) -> tuple[float, float]:
    """The logarithm of a Weibull variable is Gumbel's: its deviation is π/√6 of 1/shape."""
    shape = math.pi / math.sqrt(6) / seen.log_deviation
    return shape, math.exp(seen.log_mean + _EULER / shape)


def _pareto_tail(x: Floats, free: Floats) -> Shares:
    """A lognormal body that becomes a Pareto tail.

    Density and slope are continuous at the join (Scollnik, 2007). That leaves no more to choose:
    it is `sigma · tail` deviations above the median, whatever share the body then has.
    """
    free = _with_body(free)
    mu, sigma, tail = free[0], math.exp(free[1]), math.exp(free[2])
    high = sigma * tail
    join = math.exp(min(mu + high * sigma, 700.0))
    inside = float(ndtr(high))
    weight = high * inside
    body = weight / (math.exp(-min(high**2 / 2, 700.0)) / math.sqrt(2 * math.pi) + weight)
    below = body / inside * ndtr(_deviations(x, free))
    above = (1 - body) * (join / np.maximum(x, join)) ** tail
    beyond = x > join
    return np.where(beyond, 1 - above, below), np.where(beyond, above, 1 - below)


def _with_body(free: Floats) -> Floats:
    """A tail follows a body. Without one all lengths would be above a bound that the shortest of
    them sets, which a few always fit better than any curve they came from."""
    return np.array([free[0], max(free[1], math.log(_LEAST_HIGH) - free[2]), free[2]])


def _negative_binomial(x: Floats, free: Floats) -> Shares:
    """Sums of a table's probabilities are a hundred times faster than the function.

    However large its size is, where it is Poisson's distribution to all digits: no term is the
    small difference of large ones, and no chance is one that 1 − chance has lost.
    """
    mean, size = np.exp(_limited(free))
    whole = np.floor(x)
    if x.max() >= _TABLE:
        return _sums(whole, mean, size)
    k = np.arange(int(whole.max()) + 1)
    ratio = np.log1p(mean / size)
    rising = np.concatenate(([0.0], np.cumsum(np.log1p(k[:-1] / size))))
    each = np.exp(rising - gammaln(k + 1) + k * (np.log(mean) - ratio) - size * ratio)
    _, beyond = _sums(np.array([len(each) - 1.0]), mean, size)
    above = beyond + np.append(np.cumsum(each[:0:-1])[::-1], 0.0)
    places = whole.astype(np.int64)
    return np.cumsum(each)[places], above[places]


def _limited(free: Floats) -> Floats:
    """No size beyond the largest that means something."""
    most = np.log(_MOST_SIZE) + max(free[0], 0.0)
    return np.array([free[0], min(free[1], most)])


def _sums(whole: Floats, mean: float, size: float) -> Shares:
    """Of a negative binomial distribution at whole numbers."""
    failure = mean / (size + mean)
    return betaincc(whole + 1, size, failure), betainc(whole + 1, size, failure)


def _size(seen: Moments) -> float:
    """Without overdispersion a negative binomial distribution is nearly Poisson's."""
    return seen.mean**2 / max(seen.variance - seen.mean, 1e-3 * seen.mean)


LOGNORMAL = Family(
    name="lognormal",
    parameters=("mu", "sigma"),
    logarithmic=(False, True),
    inside=_lognormal,
    start=lambda seen: (seen.log_mean, seen.log_deviation),
)
GAMMA = Family(
    name="gamma",
    parameters=("shape", "scale"),
    logarithmic=(True, True),
    inside=_gamma,
    start=lambda seen: (seen.mean**2 / seen.variance, seen.variance / seen.mean),
)
WEIBULL = Family(
    name="Weibull",
    parameters=("shape", "scale"),
    logarithmic=(True, True),
    inside=_weibull,
    start=_weibull_start,
)
PARETO_TAIL = Family(
    name="Pareto tail",
    parameters=("mu", "sigma", "tail"),
    logarithmic=(False, True, True),
    inside=_pareto_tail,
    limited=_with_body,
    start=lambda seen: (seen.log_mean, seen.log_deviation, 1.5 / seen.log_deviation),
)
NEGATIVE_BINOMIAL = Family(
    name="negative binomial",
    parameters=("mean", "size"),
    logarithmic=(True, True),
    inside=_negative_binomial,
    limited=_limited,
    start=lambda seen: (seen.mean, _size(seen)),
)
FAMILIES = (LOGNORMAL, GAMMA, WEIBULL, PARETO_TAIL, NEGATIVE_BINOMIAL)
