"""Which attention the engine computes with, where `auto` leaves it open.

A build with AVX512-FP16 takes 128 halves at once (ggml-cpu/simd-mappings.h, GGML_F16_STEP), and in
flash attention what is left of a head one by one (vec.h, ggml_vec_mad_f16): all of it where heads
are smaller. At a depth of 2,000 tokens one token then takes twice as long as without flash
attention, and a pass over the rows of guesses five times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nextok.backends.llama_library import library
from nextok.backends.options import ContextOptions

_STEP = 128
_SCORE_BYTES = 4
_MOST_SCORES = 256 << 20
"""Bytes that the scores of one layer may take: without flash attention all of them are kept."""


class Heads(NamedTuple):
    """Of one layer."""

    number: int
    """Of the queries."""
    size: int
    """Of a value: how many numbers."""


def heads_of(model: object, metadata: Mapping[str, str]) -> Heads:
    """What a model's file says, or else its width by the heads."""
    llama = library()
    number = max(1, int(llama.llama_model_n_head(model)))
    key = f"{metadata.get('general.architecture')}.attention.value_length"
    return Heads(number, int(metadata.get(key) or llama.llama_model_n_embd(model) // number))


def flash_attention(
    options: ContextOptions, heads: Heads, *, computes_exactly: bool, takes_halves_by_128: bool
) -> str:
    """`on` or `off`, or `auto` where nothing speaks against what the engine chooses.

    computes_exactly: what the weights say of themselves. takes_halves_by_128: what the build of
    the engine does.
    """
    if options.flash_attention != "auto" or not takes_halves_by_128 or heads.size % _STEP == 0:
        return options.flash_attention
    rows = min(options.batch_size, options.ubatch_size)
    needed = (
        # A row comes out the same in every batch with it alone,
        (computes_exactly and options.threads == 1)
        # it passes over what lies between the tokens of a sequence,
        or options.sequences > 1
        # and the engine reads quantised values in no other way.
        or options.cache_type_v not in ("f16", "f32")
        or heads.number * rows * options.context_size * _SCORE_BYTES > _MOST_SCORES
    )
    return "on" if needed else "off"
