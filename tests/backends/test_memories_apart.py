"""A context in which each sequence has a memory of its own: nothing a neighbour does is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.weights import Context
from nextok.generation.abort import Abort
from nextok.generation.model import Chunk, Logits

OPTIONS = ContextOptions(
    context_size=768, sequences=3, threads=1, batch_size=32, ubatch_size=32, unified=False
)


@pytest.fixture(scope="module", params=["starter", "sliding"])
def weights(
    request: pytest.FixtureRequest, starter_gguf: Path, sliding_gguf: Path
) -> Iterator[LlamaWeights]:
    path = {"starter": starter_gguf, "sliding": sliding_gguf}[request.param]
    weights = LlamaWeights.load(path, LoadOptions(), Abort())
    yield weights
    weights.close()


@pytest.fixture
def model(weights: LlamaWeights) -> Iterator[Context]:
    model = weights.open(OPTIONS, Abort())
    yield model
    model.close()


@pytest.fixture
def ids(weights: LlamaWeights) -> list[int]:
    text = "The quick brown fox jumps over the lazy dog, then it sleeps."
    return weights.tokenizer.encode(text)[:14]


def row(logits: Logits) -> list[float]:
    return [logits[token] for token in range(0, len(logits), max(1, len(logits) // 500))]


def alone(weights: LlamaWeights, tokens: list[int]) -> list[float]:
    model = weights.open(OPTIONS._replace(context_size=256, sequences=1, unified=True), Abort())
    logits = row(model.prefill(tokens, model.new_cache()))
    model.close()
    return logits


def test_a_sequence_may_hold_its_share(model: Context) -> None:
    assert model.context_size == 256


def test_rows_are_those_of_a_sequence_alone_after_others_were_replaced(
    weights: LlamaWeights, model: Context, ids: list[int]
) -> None:
    """In one memory for all, a later token may lie before an earlier one: sums come out new."""
    first, second = model.new_cache(), model.new_cache()
    model.extend([Chunk(first, ids[:9]), Chunk(second, ids[:5])])
    first.trim(0)
    for position in range(5, len(ids) - 1):
        model.extend([Chunk(first, ids[position : position + 1]), Chunk(second, [ids[position]])])
    rows = model.extend([Chunk(first, ids[:1]), Chunk(second, ids[-1:])])
    assert row(rows[1]) == alone(weights, ids)


def test_a_fork_is_a_copy(weights: LlamaWeights, model: Context, ids: list[int]) -> None:
    parent = model.new_cache()
    model.prefill(ids[:8], parent)
    child = parent.fork()
    parent.trim(3)
    rows = model.extend([Chunk(parent, ids[3:5]), Chunk(child, ids[8:])])
    assert list(child.tokens) == ids
    assert [row(one) for one in rows] == [alone(weights, ids[:5]), alone(weights, ids)]


def test_a_fork_takes_the_place_of_who_was_closed(
    weights: LlamaWeights, model: Context, ids: list[int]
) -> None:
    gone, _, last = model.new_cache(), model.new_cache(), model.new_cache()
    model.extend([Chunk(gone, ids[:5]), Chunk(last, ids[:8])])
    gone.close()
    moved = last.fork()
    assert row(model.prefill(ids[8:], moved)) == alone(weights, ids)
