"""What `-fa auto` comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.backends import llama_weights
from nextok.backends.llama_attention import Heads, flash_attention, heads_of
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort
from nextok.generation.sampling import Sampling

OPTIONS = ContextOptions(context_size=8192, threads=2, ubatch_size=128)
SMALL = Heads(number=9, size=64)


def settled(
    options: ContextOptions, heads: Heads = SMALL, *, exactly: bool = False, by_128: bool = True
) -> str:
    return flash_attention(options, heads, computes_exactly=exactly, takes_halves_by_128=by_128)


def test_small_heads_go_without() -> None:
    assert settled(OPTIONS) == settled(OPTIONS, exactly=True) == "off"
    assert settled(OPTIONS._replace(threads=1)) == "off"
    assert settled(OPTIONS, Heads(number=9, size=192)) == "off"


def test_elsewhere_the_engine_chooses() -> None:
    assert settled(OPTIONS, by_128=False) == "auto"
    assert settled(OPTIONS, Heads(number=9, size=128)) == "auto"
    assert settled(OPTIONS, Heads(number=9, size=256)) == "auto"


def test_what_needs_it_has_it() -> None:
    assert settled(OPTIONS._replace(threads=1), exactly=True) == "on"
    assert settled(OPTIONS._replace(sequences=2)) == "on"
    assert settled(OPTIONS._replace(cache_type_v="q8_0")) == "on"
    assert settled(OPTIONS._replace(cache_type_k="q8_0")) == "off"


def test_scores_take_no_more_than_256_mib() -> None:
    """4 bytes, 64 heads, 128 rows: 32 KiB for each token of the context."""
    many = Heads(number=64, size=64)
    assert settled(OPTIONS, many) == "off"
    assert settled(OPTIONS._replace(context_size=8193), many) == "on"
    assert settled(OPTIONS._replace(context_size=8193, batch_size=64), many) == "off"


@pytest.mark.parametrize("asked", ["on", "off"])
def test_what_is_asked_for_holds(asked: str) -> None:
    assert settled(OPTIONS._replace(flash_attention=asked)) == asked
    assert settled(OPTIONS._replace(flash_attention=asked), by_128=False) == asked


def test_the_heads_are_those_of_the_file(starter_gguf: Path) -> None:
    """SmolLM2-135M: 9 heads of 64, and it does not say how long a value is."""
    weights = LlamaWeights.load(starter_gguf, LoadOptions(), Abort())
    told = {"general.architecture": "llama", "llama.attention.value_length": "96"}
    assert heads_of(weights.model, weights.metadata) == Heads(9, 64)
    assert heads_of(weights.model, told) == Heads(9, 96)
    weights.close()


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with AVX512-FP16, or one that is taken for such."""
    monkeypatch.setattr(llama_weights, "takes_halves_by_128", lambda: True)


@pytest.mark.usefixtures("wide")
def test_the_engine_is_told(starter_gguf: Path) -> None:
    """With `auto` the logits are those of the kind it comes to, and not those of the other."""
    weights = LlamaWeights.load(starter_gguf, LoadOptions(), Abort())
    tokens = weights.tokenizer.encode("The quick brown fox jumps over the lazy dog. " * 3)

    def last_logits(flash: str, threads: int) -> list[float]:
        options = ContextOptions(
            context_size=256, threads=threads, ubatch_size=128, flash_attention=flash
        )
        model = weights.open(options, Abort())
        logits = model.prefill(tokens, model.new_cache())
        found = [logits[token] for token in range(100)]
        model.close()
        return found

    try:
        for threads, kind in ((1, "on"), (2, "off")):
            other = "off" if kind == "on" else "on"
            assert last_logits("auto", threads) == last_logits(kind, threads)
            assert last_logits("auto", threads) != last_logits(other, threads)
    finally:
        weights.close()


@pytest.mark.usefixtures("wide")
def test_a_state_is_of_its_kind(starter_gguf: Path) -> None:
    """The engine keeps values in another order without it, and takes no state of the other."""
    weights = LlamaWeights.load(starter_gguf, LoadOptions(), Abort())
    known = {
        (flash, threads): weights.state_identity(
            OPTIONS._replace(flash_attention=flash, threads=threads)
        )
        for flash in ("auto", "on", "off")
        for threads in (1, 2)
    }
    weights.close()
    assert known["auto", 1] == known["on", 1] != known["off", 1]
    assert known["auto", 2] == known["off", 2] != known["on", 2]


def test_a_prompt_and_a_cut_come_back_without_it(starter_gguf: Path) -> None:
    """Export, restore and trim where values lie in columns."""
    weights = LlamaWeights.load(starter_gguf, LoadOptions(), Abort())
    tokens = weights.tokenizer.encode("One two three four five six seven eight nine ten.")
    options = OPTIONS._replace(context_size=512, flash_attention="off")
    sampler = weights.sampler(Sampling(seed=1, temperature=0.0), context_size=512, history=())
    first, second = weights.open(options, Abort()), weights.open(options, Abort())
    cache, taken = first.new_cache(), second.new_cache()
    first.prefill(tokens, cache)
    assert taken.restore(cache.export(), tokens)
    assert cache.trim(5) == taken.trim(5) == 5
    said = [sampler.sample(model.prefill(tokens[5:], held)) for model, held in
            ((first, cache), (second, taken))]  # fmt: skip
    assert said[0] == said[1]
    sampler.close()
    first.close()
    second.close()
    weights.close()
