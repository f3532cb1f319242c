"""The families' distribution functions, held against scipy's own and against calculus."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from nextok.lab.length_families import (
    FAMILIES,
    GAMMA,
    LOGNORMAL,
    NEGATIVE_BINOMIAL,
    PARETO_TAIL,
    WEIBULL,
)
from nextok.lab.length_family import Family, Moments

PLACES = np.array([0.5, 3.5, 99.5, 400.5, 2000.5])
MOMENTS = Moments(mean=200.0, variance=30_000.0, log_mean=5.0, log_deviation=0.8)


@pytest.fixture(scope="module")
def stats():  # type: ignore[no-untyped-def]
    return pytest.importorskip("scipy.stats")


@pytest.mark.parametrize(
    ("family", "read", "name", "arguments"),
    [
        (LOGNORMAL, (5.0, 0.8), "lognorm", {"s": 0.8, "scale": math.exp(5)}),
        (GAMMA, (2.0, 100.0), "gamma", {"a": 2.0, "scale": 100.0}),
        (WEIBULL, (1.4, 200.0), "weibull_min", {"c": 1.4, "scale": 200.0}),
        (NEGATIVE_BINOMIAL, (150.0, 1.5), "nbinom", {"n": 1.5, "p": 1.5 / 151.5}),
    ],
    ids=lambda one: one.name if isinstance(one, Family) else None,
)
def test_against_scipy(stats, family, read, name, arguments) -> None:  # type: ignore[no-untyped-def]
    below, above = family.shares(PLACES, family.free(read))
    reference = getattr(stats, name)(**arguments)
    assert below == pytest.approx(reference.cdf(PLACES), rel=1e-9)
    assert above == pytest.approx(reference.sf(PLACES), rel=1e-9)


@pytest.mark.parametrize("mean", [0.01, 7 / 3, 150.0, 50_000.0, 300_000.0])
@pytest.mark.parametrize("size", [1e13, 2.7e14, 1e17])
def test_a_negative_binomial_of_a_huge_size_is_poissons(  # type: ignore[no-untyped-def]
    stats, mean: float, size: float
) -> None:
    places = mean + np.array([-1, 0, 1, 4, 8]) * math.sqrt(mean)
    places = np.maximum(np.round(places), 0) + 0.5
    free = NEGATIVE_BINOMIAL.free((mean, size))
    below, above = NEGATIVE_BINOMIAL.shares(places, free)
    close = 1e-4  # it is not made larger than a million means
    assert below == pytest.approx(stats.poisson.cdf(places, mean), rel=close)
    assert above == pytest.approx(stats.poisson.sf(places, mean), rel=close)


def test_no_tail_begins_before_half_of_the_lengths() -> None:
    """As steep or flat as it may be: otherwise a bound from below would be fitted to a few."""
    for tail in (0.3, 1.0, 5.0):
        free = PARETO_TAIL.free((4.6, 1e-9, tail))
        sigma = PARETO_TAIL.read(PARETO_TAIL.limited(free))["sigma"]
        join = math.exp(4.6 + tail * sigma**2)
        below, _ = PARETO_TAIL.shares(np.array([join]), free)
        assert below[0] == pytest.approx(0.5, abs=0.005)


def test_a_pareto_tail_is_a_power_law_smoothly_joined_to_a_lognormal_body() -> None:
    mu, sigma, tail = 4.6, 0.7, 1.8
    free = PARETO_TAIL.free((mu, sigma, tail))
    join = math.exp(mu + tail * sigma**2)
    _, above = PARETO_TAIL.shares(np.array([2 * join, 20 * join]), free)
    assert above[0] / above[1] == pytest.approx(10**tail)
    step = 1e-3 * join
    below, _ = PARETO_TAIL.shares(join + step * np.arange(-3, 4), free)
    density = np.diff(below) / step
    slopes = np.diff(density) / step
    assert density[2] == pytest.approx(density[3], rel=1e-2)
    assert slopes[0] == pytest.approx(slopes[-1], rel=0.02)
    body, _ = PARETO_TAIL.shares(np.array([50.0, 100.0]), free)
    normal, _ = LOGNORMAL.shares(np.array([50.0, 100.0]), free[:2])
    assert body[0] / body[1] == pytest.approx(normal[0] / normal[1])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
def test_shares_are_of_one(family: Family) -> None:
    free = family.free(family.start(MOMENTS))
    places = np.concatenate(([-0.5], np.geomspace(0.5, 1e6, 200)))
    below, above = family.shares(places, free)
    assert below + above == pytest.approx(np.ones(201))
    assert (below[0], above[0]) == (0.0, 1.0)
    assert np.all(np.diff(below) >= 0) and np.all(np.diff(above) <= 0)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
def test_parameters_are_read_as_they_were_given(family: Family) -> None:
    read = list(family.start(MOMENTS))
    assert list(family.read(family.free(read)).values()) == pytest.approx(read)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
@pytest.mark.parametrize("far", [-39.0, 39.0])
def test_far_parameters_warn_of_nothing(family: Family, far: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        family.shares(PLACES, np.full(len(family.parameters), far))
