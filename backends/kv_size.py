"""How many bytes the KV cache takes, from a model's header alone.

Promises the engine's own figure (src/llama-kv-cache.cpp) or None, never a guess: None for
recurrent and hybrid models, latent attention, layers that share a cache, unknown architectures.
"""

from __future__ import annotations

from nextok.backends.architectures import HYBRID, KNOWN, RECURRENT
from nextok.backends.ggml_types import BY_NAME
from nextok.backends.gguf_header import Header
from nextok.backends.header_values import Values
from nextok.backends.options import CONTEXT_STEP

_OTHER_CACHES = ("attention.kv_lora_rank", "attention.key_length_swa", "attention.shared_kv_layers")
_SHARED_LAYERS = frozenset({"gemma3n"})


def kv_bytes_per_token(header: Header, *, type_k: str = "f16", type_v: str = "f16") -> int | None:
    """Bytes one more token costs, all layers together; types by their ggml names.

    For sliding-window models this is the full-size cache (the engine's `swa_full`).
    """
    if not _is_plain(header):
        return None
    values = Values(header)
    sizes = values.head_sizes()
    heads = values.per_layer("attention.head_count")
    groups = values.per_layer("attention.head_count_kv") or heads
    k, v = BY_NAME.get(type_k), BY_NAME.get(type_v)
    if sizes is None or not groups or k is None or v is None:
        return None
    layers = groups[: len(groups) - (values.integer("nextn_predict_layers") or 0)]
    return sum(k.row_bytes(n * sizes[0]) + v.row_bytes(n * sizes[1]) for n in layers)


def kv_bytes(
    header: Header, tokens: int, *, type_k: str = "f16", type_v: str = "f16", sequences: int = 1
) -> int | None:
    """Bytes of the caches of `sequences` sequences with `tokens` tokens each."""
    each = kv_bytes_per_token(header, type_k=type_k, type_v=type_v)
    if each is None:
        return None
    return each * sequences * (-(-tokens // CONTEXT_STEP) * CONTEXT_STEP)


def _is_plain(header: Header) -> bool:
    """Whether every layer keeps a key and a value for every token, in the usual layout."""
    architecture = header.architecture
    if architecture not in KNOWN or architecture in RECURRENT | HYBRID | _SHARED_LAYERS:
        return False
    return not any(header.of_architecture(key) in header.metadata for key in _OTHER_CACHES)
