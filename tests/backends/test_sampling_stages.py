"""A sampler taken apart: what each step leaves, and that nothing is changed by looking."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.sampling_stages import Stage, sampling_stages
from nextok.generation.abort import Abort
from nextok.generation.model import Logits
from nextok.generation.nucleus import NucleusSampler
from nextok.generation.sampling import Sampling

WEIGHTS = (30, 20, 12, 10, 8, 6, 5, 4, 2, 1.5, 1, 0.5)
"""Of the letters from A on, in percent; nothing else has a chance."""
CHOICES = {chr(ord("A") + n): 18 + math.log(weight) for n, weight in enumerate(WEIGHTS)}


@pytest.fixture(scope="module")
def weights(scripted: Callable[..., Path]) -> Iterator[LlamaWeights]:
    weights = LlamaWeights.load(
        scripted([], choices=CHOICES, stem="choices"), LoadOptions(), Abort()
    )
    yield weights
    weights.close()


@pytest.fixture(scope="module")
def logits(weights: LlamaWeights) -> Iterator[Logits]:
    model = weights.open(ContextOptions(context_size=256), Abort())
    yield model.prefill(weights.tokenizer.encode("q"), model.new_cache())
    model.close()


def stages(weights: LlamaWeights, logits: Logits, **settings: object) -> list[Stage]:
    sampling = Sampling(seed=3)._replace(**settings)
    sampler = weights.sampler(sampling, context_size=256, history=())
    found = sampling_stages(sampler, logits)
    sampler.close()
    return found


def letters(weights: LlamaWeights, stage: Stage) -> str:
    """The candidates, the likeliest first."""
    order = sorted(zip(stage.scores.tolist(), stage.ids.tolist(), strict=True), reverse=True)
    return "".join(weights.tokenizer.piece(token).decode() for _, token in order)


def test_the_first_stage_is_the_model(weights: LlamaWeights, logits: Logits) -> None:
    first = stages(weights, logits)[0]
    assert first.step == "model"
    assert first.ids.tolist() == list(range(len(logits)))
    assert first.scores.tolist() == [logits[token] for token in range(len(logits))]


def test_each_step_leaves_what_it_must(weights: LlamaWeights, logits: Logits) -> None:
    # A to H are 95 of 100, A to E 80; of the likeliest's 30 a fifth is 6.
    found = stages(weights, logits, top_k=9, top_p=0.9, min_p=0.2, temperature=0.5)
    assert [one.step for one in found] == ["model", "top-k", "top-p", "min-p", "temperature"]
    assert [letters(weights, one) for one in found[1:]] == [
        "ABCDEFGHI",
        "ABCDEFG",
        "ABCDEF",
        "ABCDEF",
    ]
    before, after = found[3].scores, found[4].scores
    assert (after - after.max()).tolist() == pytest.approx(((before - before.max()) * 2).tolist())


def test_steps_that_are_off_are_no_stages(weights: LlamaWeights, logits: Logits) -> None:
    found = stages(weights, logits, top_k=0, min_p=0.0, top_p=1.0)
    assert [one.step for one in found if len(one.ids) < len(logits)] == []
    assert [one.step for one in stages(weights, logits, temperature=0.0)] == ["model"]


def test_a_banned_token_is_gone(weights: LlamaWeights, logits: Logits) -> None:
    banned = max(range(len(logits)), key=logits.__getitem__)
    found = stages(weights, logits, logit_bias=((banned, -math.inf),), top_k=2)
    assert found[1].scores[found[1].ids == banned].tolist() == [-math.inf]
    assert letters(weights, next(one for one in found if one.step == "top-k")) == "BC"


def test_looking_changes_no_draw(weights: LlamaWeights, logits: Logits) -> None:
    sampling = Sampling(seed=5, xtc_probability=0.5, xtc_threshold=0.15)
    texts = []
    for looks in (False, True):
        sampler = weights.sampler(sampling, context_size=256, history=())
        tokens = []
        for _ in range(40):
            if looks:
                sampling_stages(sampler, logits)
            tokens.append(sampler.sample(logits))
        texts.append(tokens)
        sampler.close()
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 3


def test_the_written_out_sampler_is_taken_apart_too() -> None:
    logits = [math.log(share) for share in (0.4, 0.3, 0.2, 0.1)]
    found = sampling_stages(NucleusSampler(temperature=1.0, top_p=0.7, seed=1), logits)
    assert [one.step for one in found] == ["model", "temperature", "top-p"]
    assert [len(one.ids) for one in found] == [4, 4, 2]
    greedy = sampling_stages(NucleusSampler(temperature=0.0, top_p=0.7, seed=1), logits)
    assert [one.step for one in greedy] == ["model"]
