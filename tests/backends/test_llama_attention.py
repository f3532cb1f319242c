"""What `-fa auto` comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.backends.llama_attention import flash_attention
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort
from nextok.generation.sampling import Sampling

OPTIONS = ContextOptions(context_size=8192, threads=2, ubatch_size=128)


def settled(
    options: ContextOptions, *, heads: int = 9, exactly: bool = False, offloads: bool = False
) -> str:
    return flash_attention(options, heads=heads, computes_exactly=exactly, offloads=offloads)


def test_one_sequence_on_a_cpu_goes_without() -> None:
    assert settled(OPTIONS) == settled(OPTIONS, exactly=True) == "off"
    assert settled(OPTIONS._replace(threads=1)) == "off"


def test_what_needs_it_has_it() -> None:
    assert settled(OPTIONS._replace(threads=1), exactly=True) == "on"
    assert settled(OPTIONS._replace(sequences=2)) == "on"
    assert settled(OPTIONS._replace(cache_type_v="q8_0")) == "on"
    assert settled(OPTIONS._replace(cache_type_k="q8_0")) == "off"


def test_scores_take_no_more_than_256_mib() -> None:
    """4 bytes, 64 heads, 128 rows: 32 KiB for each token of the context."""
    assert settled(OPTIONS, heads=64) == "off"
    assert settled(OPTIONS._replace(context_size=8193), heads=64) == "on"
    assert settled(OPTIONS._replace(context_size=8193, batch_size=64), heads=64) == "off"


@pytest.mark.parametrize("asked", ["on", "off"])
def test_what_is_asked_for_holds(asked: str) -> None:
    assert settled(OPTIONS._replace(flash_attention=asked)) == asked
    assert settled(OPTIONS._replace(flash_attention=asked), offloads=True) == asked


def test_a_gpu_is_the_engines_affair() -> None:
    assert settled(OPTIONS, offloads=True) == "auto"


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
    options = OPTIONS._replace(context_size=512)
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
