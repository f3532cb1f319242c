"""The engine's sampler chain and the written-out one draw from the same distribution."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scipy.stats import chi2_contingency, chisquare

from nextok.backends.llama_sampler import LlamaSampler
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort
from nextok.generation.model import Logits, Sampler
from nextok.generation.nucleus import NucleusSampler, nucleus, softmax
from nextok.generation.sampling import Sampling

DRAWS = 4000
ALPHA = 1e-3
"""Seeds are fixed: a failure is a fact about the code, not bad luck."""

WEIGHTS = (30, 20, 12, 10, 8, 6, 5, 4, 2, 1.5, 1, 0.5)
CHOICES = {chr(ord("A") + n): 18 + math.log(weight) for n, weight in enumerate(WEIGHTS)}
SETTINGS = [(1.0, 1.0), (0.8, 0.95), (1.5, 0.9), (0.3, 0.99), (1.0, 0.35)]


@pytest.fixture(scope="module")
def weights(scripted: Callable[..., Path]) -> Iterator[LlamaWeights]:
    path = scripted([], choices=CHOICES, stem="choices")
    weights = LlamaWeights.load(path, LoadOptions(), Abort())
    yield weights
    weights.close()


@pytest.fixture(scope="module")
def logits(weights: LlamaWeights) -> Iterator[Logits]:
    model = weights.open(ContextOptions(context_size=256), Abort())
    yield model.prefill(weights.tokenizer.encode("q"), model.new_cache())
    model.close()


def native(weights: LlamaWeights, temperature: float, top_p: float) -> LlamaSampler:
    """Temperature first, as in the paper; llama.cpp's default order has it last."""
    sampling = Sampling(
        seed=11, temperature=temperature, top_p=top_p, samplers=("temperature", "top_p")
    )
    return weights.sampler(sampling, context_size=256, history=())


def written(temperature: float, top_p: float) -> NucleusSampler:
    return NucleusSampler(temperature=temperature, top_p=top_p, seed=12)


def drawn(sampler: Sampler, logits: Logits, draws: int = DRAWS) -> Counter[int]:
    return Counter(sampler.sample(logits) for _ in range(draws))


def p_same(first: Counter[int], second: Counter[int]) -> float:
    """How likely two samples of one distribution differ as much; rare tokens count together."""
    tokens = sorted(first | second, key=lambda token: -(first + second)[token])
    table = [[one[token] for token in tokens] for one in (first, second)]
    while len(table[0]) > 2 and table[0][-1] + table[1][-1] < 10:
        table = [[*row[:-2], row[-2] + row[-1]] for row in table]
    return float(chi2_contingency(table).pvalue) if len(table[0]) > 1 else 1.0


def p_exact(counts: Counter[int], row: Logits, temperature: float, top_p: float) -> float:
    """How likely draws of the exact distribution differ from it as much."""
    scores = [row[token] for token in range(len(row))]
    kept = nucleus(softmax(scores, temperature), top_p)
    assert counts.keys() <= {token for token, _ in kept}
    mass = sum(probability for _, probability in kept)
    expected = [(counts[token], DRAWS * share / mass) for token, share in kept]
    common = [pair for pair in expected if pair[1] >= 5]
    rest = [pair for pair in expected if pair[1] < 5]
    if rest:
        common.append((sum(pair[0] for pair in rest), sum(pair[1] for pair in rest)))
    observed, wanted = zip(*common, strict=True)
    return float(chisquare(observed, wanted).pvalue) if len(common) > 1 else 1.0


@pytest.fixture(scope="module")
def row(logits: Logits) -> Logits:
    """A copy: the written-out sampler looks at every entry for every draw."""
    return [logits[token] for token in range(len(logits))]


@pytest.mark.parametrize(("temperature", "top_p"), SETTINGS)
def test_both_samplers_draw_from_the_same_distribution(
    weights: LlamaWeights, logits: Logits, row: Logits, temperature: float, top_p: float
) -> None:
    engine = drawn(native(weights, temperature, top_p), logits)
    ours = drawn(written(temperature, top_p), row)
    assert p_same(engine, ours) > ALPHA
    assert p_exact(engine, row, temperature, top_p) > ALPHA
    assert p_exact(ours, row, temperature, top_p) > ALPHA


def test_both_keep_the_same_nucleus(weights: LlamaWeights, logits: Logits, row: Logits) -> None:
    """A third of the mass and a bit: the first two tokens, 30 % and 20 %, and no other."""
    ids = {weights.tokenizer.encode(text)[0] for text in "AB"}
    assert set(drawn(native(weights, 1.0, 0.35), logits)) == ids
    assert set(drawn(written(1.0, 0.35), row)) == ids


@pytest.mark.parametrize(("temperature", "top_p"), [(1.25, 1.0), (0.75, 1.0), (1.0, 0.9)])
def test_the_comparison_tells_neighbours_apart(
    weights: LlamaWeights, logits: Logits, row: Logits, temperature: float, top_p: float
) -> None:
    engine = drawn(native(weights, 1.0, 1.0), logits)
    assert p_same(engine, drawn(written(temperature, top_p), row)) < ALPHA


def test_a_reset_sampler_draws_the_same_again(weights: LlamaWeights, logits: Logits) -> None:
    for sampler in (native(weights, 1.0, 1.0), written(1.0, 1.0)):
        first = [sampler.sample(logits) for _ in range(50)]
        sampler.reset()
        assert [sampler.sample(logits) for _ in range(50)] == first
        assert len(set(first)) > 3
