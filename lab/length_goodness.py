"""Whether a fitted distribution fits: how far it is off at most, and how often chance is as far.

The distance is Kolmogorov and Smirnov's, from the share of lengths that are seen (Kaplan and
Meier's where answers were cut). Chance is known by trying: lengths are drawn from the fit itself,
cut like the real ones and fitted again, for a fit is always near the data it was made from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nextok.lab.length_fits import Fit, refitted
from nextok.lab.length_sample import Floats, Integers, Sample, counted

REJECTED = 0.05
"""A fit is rejected where chance is as far off less often."""
_ENOUGH = 10
"""Draws farther off than the data, after which it is clear that chance does that."""
_MOST_TIMES = 10
_UNCUT = np.iinfo(np.int64).max
_TABLE = 1 << 16
"""Lengths whose shares are looked up in a table."""
_MOST_TOKENS = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Goodness:
    """How well one fit fits."""

    distance: float
    """The largest difference between the fitted and the seen share of lengths up to some length."""
    p_value: float
    """How often lengths drawn from the fit are as far from their own fit."""
    draws: int
    """How often that was tried."""

    @property
    def accepted(self) -> bool:
        """Whether the data could have come from the fit."""
        return self.p_value >= REJECTED


def goodness(
    fit: Fit, sample: Sample, draws: int, seed: int, before: Callable[[int], None]
) -> Goodness:
    """Try it. draws: at most; so many are needed where a fit is rejected, and up to ten times as
    many where they do not tell on which side of the bound it is.

    before: told before each draw how many there were.
    """
    generator = np.random.default_rng(seed)
    drawing = _Drawing.of(fit, sample)
    seen = distance(fit, sample)
    farther = tried = 0
    while not is_clear(farther, tried, draws):
        before(min(tried, draws))
        drawn = drawing.sample(generator)
        farther += distance(refitted(fit, drawn), drawn) >= seen
        tried += 1
    p_value = farther / tried if farther >= _ENOUGH else (farther + 1) / (tried + 1)
    return Goodness(distance=seen, p_value=p_value, draws=tried)


def is_clear(farther: int, tried: int, draws: int) -> bool:
    """Whether so many draws tell on which side of REJECTED a fit is, or are all there may be.

    farther: draws that are as far off as the data. Where none is, there is no doubt.
    """
    above = farther - REJECTED * tried
    spread = 2 * math.sqrt(REJECTED * (1 - REJECTED) * tried)
    if farther >= _ENOUGH and above >= spread:
        return True
    doubtful = farther and abs(above) < spread
    return tried >= draws and (not doubtful or tried >= _MOST_TIMES * draws)


def distance(fit: Fit, sample: Sample) -> float:
    """The largest difference of shares, at each length and just before it."""
    seen = seen_below(sample)
    before = np.concatenate(([0.0], seen[:-1]))
    # Beyond the last answer that ended by itself nothing is known.
    known = np.cumsum(sample.ended[::-1])[::-1] > 0
    at = np.abs(fit.below(sample.places) - seen)[known]
    ahead = np.abs(fit.below(sample.places - 1) - before)
    return float(max(at.max(initial=0.0), ahead.max()))


def seen_below(sample: Sample) -> Floats:
    """The share of answers that would have ended by each length: Kaplan and Meier's estimate."""
    return _product_limit(sample.ended, sample.cut)


def _product_limit(events: Integers, others: Integers) -> Floats:
    at_risk = np.cumsum((events + others)[::-1])[::-1]
    return np.asarray(1 - np.cumprod(1 - events / at_risk))


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    """Lengths like those of a sample, if a fit were true."""

    fit: Fit
    count: int
    table: Floats
    """Shares of lengths up to 0, 1, 2, …"""
    limits: Integers
    """Where answers are cut; the last is never."""
    limit_shares: Floats
    """How many are cut by each limit."""

    @classmethod
    def of(cls, fit: Fit, sample: Sample) -> _Drawing:
        reach = min(_TABLE, 4 * int(sample.lengths[-1]) + 1)
        return cls(
            fit=fit,
            count=sample.count,
            table=fit.below(np.arange(float(reach))),
            limits=np.append(sample.lengths, _UNCUT),
            # An ended answer's limit is not known, only that it was not reached: the same
            # estimate with the parts exchanged.
            limit_shares=np.append(_product_limit(sample.cut, sample.ended), 1.0),
        )

    def sample(self, generator: np.random.Generator) -> Sample:
        tokens = self._lengths(generator.random(self.count))
        limits = np.full(self.count, _UNCUT)
        if self.limit_shares[-2] > 0:
            places = np.searchsorted(self.limit_shares, generator.random(self.count))
            limits = self.limits[places]
        return counted(np.minimum(tokens, limits), tokens >= limits, self.fit.missing_over)

    def _lengths(self, shares: Floats) -> Integers:
        tokens = np.searchsorted(self.table, shares)
        beyond = tokens == len(self.table)
        if beyond.any():
            tokens[beyond] = self.fit.quantile(shares[beyond], _MOST_TOKENS)
        return tokens
