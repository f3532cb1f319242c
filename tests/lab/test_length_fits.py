"""Lengths drawn from known distributions are recovered, whole, cut at a cap, or without the longer.

And whether one fits is told: the true one is accepted, and for two humps none is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from nextok.generation.errors import UsageError
from nextok.lab.length_data import Answer
from nextok.lab.length_families import FAMILIES, GAMMA, LOGNORMAL, NEGATIVE_BINOMIAL
from nextok.lab.length_fits import fits, fitted, log_likelihood, refitted, weights
from nextok.lab.length_goodness import distance, goodness, is_clear, seen_below
from nextok.lab.length_sample import OverCap, Sample, counted, found_cap, sample_of

N = 8000
Draw = Callable[[np.random.Generator, int], np.ndarray]


def pareto(generator: np.random.Generator, count: int) -> np.ndarray:
    """Of a lognormal body (4.6, 0.7) below the join and a tail with exponent 1.8 beyond."""
    mu, sigma, tail = 4.6, 0.7, 1.8
    high = sigma * tail
    join = math.exp(mu + high * sigma)
    weight = high * 0.5 * (1 + math.erf(high / math.sqrt(2)))
    share = weight / (math.exp(-(high**2) / 2) / math.sqrt(2 * math.pi) + weight)
    body = generator.lognormal(mu, sigma, 2 * count)
    ends = join * generator.random(count) ** (-1 / tail)
    return np.where(generator.random(count) < share, body[body <= join][:count], ends)


KNOWN: dict[str, tuple[Draw, dict[str, float]]] = {
    "lognormal": (lambda g, n: g.lognormal(5, 0.8, n), {"mu": 5, "sigma": 0.8}),
    "gamma": (lambda g, n: g.gamma(2, 100, n), {"shape": 2, "scale": 100}),
    "Weibull": (lambda g, n: 200 * g.weibull(1.4, n), {"shape": 1.4, "scale": 200}),
    "Pareto tail": (pareto, {"mu": 4.6, "sigma": 0.7, "tail": 1.8}),
    "negative binomial": (
        lambda g, n: g.negative_binomial(1.5, 1.5 / 151.5, n), {"mean": 150, "size": 1.5},
    ),
}  # fmt: skip


def drawn(name: str, count: int = N, seed: int = 7) -> np.ndarray:
    return np.round(KNOWN[name][0](np.random.default_rng(seed), count)).astype(np.int64)


def whole(tokens: np.ndarray) -> Sample:
    return counted(tokens, np.zeros(len(tokens), dtype=bool), None)


def cut(tokens: np.ndarray, cap: int) -> Sample:
    return counted(np.minimum(tokens, cap), tokens >= cap, None)


def without_longer(tokens: np.ndarray, cap: int) -> Sample:
    kept = tokens[tokens <= cap]
    return counted(kept, np.zeros(len(kept), dtype=bool), cap)


def two_humps(count: int, seed: int = 3) -> np.ndarray:
    generator = np.random.default_rng(seed)
    short, long = generator.normal(90, 20, count), generator.normal(410, 25, count)
    mixed = np.where(generator.random(count) < 0.6, short, long)
    return np.maximum(np.round(mixed), 1).astype(np.int64)


@pytest.mark.parametrize("name", KNOWN)
def test_the_family_and_its_parameters_are_found(name: str) -> None:
    best = fits(whole(drawn(name)))[0]
    assert best.family.name == name
    assert best.parameters == pytest.approx(KNOWN[name][1], rel=0.05)


@pytest.mark.parametrize("name", KNOWN)
def test_answers_cut_at_a_cap(name: str) -> None:
    tokens = drawn(name)
    cap = int(np.quantile(tokens, 0.85))
    best = fits(cut(tokens, cap))[0]
    assert best.family.name == name
    assert best.parameters == pytest.approx(KNOWN[name][1], rel=0.08)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "Pareto tail"])
def test_longer_answers_are_missing(name: str) -> None:
    tokens = drawn(name)
    cap = int(np.quantile(tokens, 0.9))
    best = fits(without_longer(tokens, cap))[0]
    assert best.family.name == name
    assert best.parameters == pytest.approx(KNOWN[name][1], rel=0.08)
    assert best.below(np.array([float(cap)])) == pytest.approx(1.0)
    assert best.above(np.array([float(cap)])) == pytest.approx(0.0)


def test_a_cap_that_is_not_known_of_misleads() -> None:
    """What the likelihood's care is for: the same data, taken for whole."""
    tokens = drawn("lognormal")
    cap = int(np.quantile(tokens, 0.85))
    naive = fitted(LOGNORMAL, whole(np.minimum(tokens, cap))).parameters
    assert naive["mu"] < 4.95 and naive["sigma"] < 0.73


def test_the_likelihood_by_hand() -> None:
    """Two answers of 1 token and one cut at 2: the shares of [0.5, 1.5) twice, and from 1.5 on."""
    sample = counted(np.array([1, 1, 2]), np.array([False, False, True]), None)

    def normal(x: float) -> float:
        return 0.5 * (1 + math.erf(math.log(x) / math.sqrt(2)))

    one, more = normal(1.5) - normal(0.5), 1 - normal(1.5)
    by_hand = 2 * math.log(one) + math.log(more)
    assert log_likelihood(LOGNORMAL, np.array([0.0, 0.0]), sample) == pytest.approx(by_hand)
    missing = counted(np.array([1, 1, 2]), np.zeros(3, dtype=bool), 2)
    two = normal(2.5) - normal(1.5)
    by_hand = 2 * math.log(one) + math.log(two) - 3 * math.log(normal(2.5))
    assert log_likelihood(LOGNORMAL, np.array([0.0, 0.0]), missing) == pytest.approx(by_hand)


def test_ranks_and_weights() -> None:
    found = fits(whole(drawn("Weibull", 500)))
    assert [one.aic for one in found] == sorted(one.aic for one in found)
    assert {one.family.name for one in found} == {one.name for one in FAMILIES}
    shares = weights(found)
    assert sum(shares) == pytest.approx(1)
    ratio = math.exp((found[0].aic - found[1].aic) / 2)
    assert shares[1] / shares[0] == pytest.approx(ratio)


def test_quantiles_are_the_inverse() -> None:
    fit = fitted(LOGNORMAL, whole(drawn("lognormal")))
    assert fit.quantile(np.array([0.5, 0.9]), 10_000).tolist() == pytest.approx(
        [math.exp(5), math.exp(5 + 1.2816 * 0.8)], rel=0.03
    )
    assert fit.quantile(np.array([1.0]), 10_000).tolist() == [10_000]


@pytest.mark.parametrize("name", KNOWN)
def test_the_true_family_is_accepted(name: str) -> None:
    sample = cut(drawn(name, 400, seed=2), 400)
    family = next(one for one in FAMILIES if one.name == name)
    fit = fitted(family, sample)
    assert goodness(fit, sample, 60, 1, lambda tried: None).accepted


def test_for_two_humps_none_is_accepted() -> None:
    sample = whole(two_humps(400))
    for fit in fits(sample):
        judged = goodness(fit, sample, 24, 1, lambda tried: None)
        assert (judged.accepted, judged.draws) == (False, 24), fit.family.name
        assert judged.p_value == pytest.approx(1 / 25)
        assert judged.distance > 0.1


def test_longer_ones_that_are_missing_are_missing_from_the_draws() -> None:
    sample = without_longer(drawn("gamma", 300), 250)
    fit = fitted(GAMMA, sample)
    assert goodness(fit, sample, 30, 1, lambda tried: None).accepted


def test_the_same_seed_judges_the_same() -> None:
    sample = whole(drawn("gamma", 100))
    fit = fitted(GAMMA, sample)
    tried: list[int] = []
    first = goodness(fit, sample, 20, 5, tried.append)
    assert goodness(fit, sample, 20, 5, lambda tried: None) == first
    assert tried == list(range(first.draws))


def test_the_share_seen_where_answers_were_cut() -> None:
    """Kaplan and Meier's own: at 1 one of 4 ends, at 2 one is cut, at 3 one of the 2 left ends."""
    sample = counted(np.array([1, 2, 3, 5]), np.array([False, True, False, True]), None)
    assert seen_below(sample).tolist() == pytest.approx([0.25, 0.25, 0.625, 0.625])


def test_the_distance_by_hand() -> None:
    """Half of the answers have 1 token and half 3; a fit has half of them below 2."""
    sample = whole(np.array([1, 3]))
    fit = fitted(LOGNORMAL, sample)
    shares = fit.below(np.array([0.0, 1.0, 2.0, 3.0]))
    by_hand = max(abs(shares - np.array([0, 0.5, 0.5, 1.0])))
    assert distance(fit, sample) == pytest.approx(by_hand)


def answers(tokens: np.ndarray) -> list[Answer]:
    return [Answer(int(one)) for one in tokens]


def test_a_cap_shows_in_the_data() -> None:
    tokens = drawn("lognormal", 500)
    assert found_cap(answers(np.minimum(tokens, 300))) == 300
    assert found_cap(answers(tokens)) is None
    assert found_cap(answers(np.array([1, 2, 3] * 50))) is None
    assert found_cap([*answers(np.minimum(tokens, 300)), Answer(9, True)]) is None


def test_a_cap_that_is_said() -> None:
    given = [Answer(10), Answer(30), Answer(30), Answer(20, True)]
    sample = sample_of(given, 30)
    assert (sample.ended.tolist(), sample.cut.tolist()) == ([1, 0, 0], [0, 1, 2])
    missing = sample_of(given, 30, OverCap.MISSING)
    assert (missing.ended.tolist(), missing.missing_over) == ([1, 0, 2], 30)
    with pytest.raises(UsageError, match="--cap 25: there are answers of up to 30 tokens"):
        sample_of(given, 25)


@pytest.mark.parametrize(
    "tokens",
    [[1, 2, 4], [9, 10, 11], [3, 4, 4, 5] * 10, [98, 100, 102] * 30, [70_000, 70_001, 70_005]],
    ids=lambda one: f"{len(one)}-{one[0]}",
)
def test_less_spread_than_poissons_gets_poissons_likelihood(tokens: list[int]) -> None:
    """And none above it: the negative binomial family has nothing narrower."""
    poisson = pytest.importorskip("scipy.stats").poisson
    best = float(np.sum(poisson.logpmf(tokens, np.mean(tokens))))
    fit = fitted(NEGATIVE_BINOMIAL, whole(np.array(tokens)))
    assert fit.log_likelihood == pytest.approx(best, abs=0.02)
    assert fit.log_likelihood <= best + 1e-6
    assert fit.aic == pytest.approx(4 - 2 * fit.log_likelihood)
    mean, size = fit.parameters.values()
    assert mean == pytest.approx(np.mean(tokens), rel=0.01) and size <= 1.01e6 * mean
    read = NEGATIVE_BINOMIAL.free((mean, size))
    assert log_likelihood(NEGATIVE_BINOMIAL, read, whole(np.array(tokens))) <= best + 1e-6


def test_draws_from_less_spread_than_poissons_are_fitted_as_honestly() -> None:
    """Three answers of 1, 2 and 4 tokens are judged by draws whose fits are possible, too."""
    sample = whole(np.array([1, 2, 4]))
    fit = fitted(NEGATIVE_BINOMIAL, sample)
    assert fit.log_likelihood == pytest.approx(-4.94, abs=0.01)
    assert distance(fit, sample) < 0.3
    generator = np.random.default_rng(5)
    for _ in range(30):
        tokens = generator.poisson(7 / 3, 3)
        if len(set(tokens.tolist())) > 1:
            again = refitted(fit, whole(tokens))
            assert again.log_likelihood < 0
            most = np.log([np.mean(tokens == one) for one in tokens]).sum()
            assert again.log_likelihood <= most + 1e-9


@pytest.mark.parametrize(
    ("farther", "tried", "clear"),
    [(0, 98, False), (0, 99, True), (1, 98, False), (5, 99, False), (9, 99, False),
     (10, 50, True), (10, 150, False), (15, 150, True), (3, 300, True), (50, 990, True)],
)  # fmt: skip
def test_draws_go_on_until_they_tell(farther: int, tried: int, clear: bool) -> None:
    """The bound is 5 %: 5 of 99 are on it, as 9 may be, 15 of 150 are above, 3 of 300 below."""
    assert is_clear(farther, tried, draws=99) is clear
