"""Rows of logits as arrays."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.logits_array import logits_array
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.toy import Toy
from nextok.generation.abort import Abort


def test_the_engines_row_is_seen_in_place(emoji_gguf: Path) -> None:
    weights = LlamaWeights.load(emoji_gguf, LoadOptions(), Abort())
    model = weights.open(ContextOptions(context_size=256), Abort())
    cache = model.new_cache()
    logits = model.prefill([1, 5], cache)
    row = logits_array(logits)
    assert row.shape == (len(weights.tokenizer),)
    assert [float(one) for one in row] == [logits[token] for token in range(len(row))]
    before = row.copy()
    model.decode(int(row.argmax()), cache)
    assert (row != before).any()  # the same memory, with the next pass in it
    model.close()
    weights.close()


def test_another_backends_row_is_copied() -> None:
    toy = Toy()
    model = toy.open(ContextOptions(context_size=256), Abort())
    logits = model.prefill([104], model.new_cache())
    row = logits_array(logits)
    assert row.shape == (len(toy.tokenizer),)
    assert float(row[104]) == pytest.approx(logits[104], rel=1e-6)
