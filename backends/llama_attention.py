"""Which attention the engine computes with, where `auto` leaves it open.

On a CPU its flash attention takes fewer than 64 rows one after another, and each position of a row
by itself (ggml-cpu/ops.cpp, ggml_compute_forward_flash_attn_ext_f16_one_chunk); without it they are
products of matrices. Where heads are small that is twice as fast for a token and three times for
the rows of guesses, at a depth of a thousand tokens or two; prompts are read up to a sixth more
slowly. `nextok bench -fa on` against `-fa off` shows it.
"""

from __future__ import annotations

from nextok.backends.options import ContextOptions

_SCORE_BYTES = 4
_MOST_SCORES = 256 << 20
"""Bytes that the scores of one layer may take: without flash attention all of them are kept."""


def flash_attention(
    options: ContextOptions, *, heads: int, computes_exactly: bool, offloads: bool
) -> str:
    """`on`, `off`, or `auto` where layers are on a GPU and the engine knows better.

    heads: of queries, in a layer. computes_exactly: what the weights say of themselves.
    """
    if options.flash_attention != "auto" or offloads:
        return options.flash_attention
    rows = min(options.batch_size, options.ubatch_size)
    needed = (
        # A row comes out the same in every batch with it alone,
        (computes_exactly and options.threads == 1)
        # it passes over what lies between the tokens of a sequence,
        or options.sequences > 1
        # and the engine reads quantised values in no other way.
        or options.cache_type_v not in ("f16", "f32")
        or heads * rows * options.context_size * _SCORE_BYTES > _MOST_SCORES
    )
    return "on" if needed else "off"
