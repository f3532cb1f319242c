"""Builds tiny models of the kinds of memory that are no plain KV cache, with random weights.

The real engine runs them, and what they say depends on all they have read: a memory that holds
the wrong thing shows. They speak in words, sometimes end, and never say a control token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Tensors: TypeAlias = dict[str, Array]

WIDTH = 64
HEADS, HEAD = 2, 32
FEED_FORWARD = 64
INNER = 2 * WIDTH
STATE, CONV, RANK = 16, 4, 32
WINDOW = 16
_WORDS = """
    the a cat dog sun sea old red blue small sings runs sleeps over under and or but then now here
    there one two three hello yes no . , ! ?
    """
WORDS = _WORDS.split()


@dataclass(frozen=True, kw_only=True)
class Tiny:
    """What there is in a GGUF beside its vocabulary."""

    metadata: Mapping[str, Any]
    tensors: Tensors


def recurrent(tokens: int, spoken: list[int]) -> Tiny:
    """Mamba: a state of one size, however long the text; it remembers hundreds of tokens.

    `tokens` is the size of the vocabulary, `spoken` are the ids that may be said.
    """
    random = np.random.RandomState(1)
    tensors = _ends(random, tokens, spoken, loudness=0.1)
    for layer in range(2):
        tensors |= _named(layer, attn_norm=np.ones(WIDTH)) | _state_space(random, layer)
    values = _state_space_values() | {"block_count": 2}
    return Tiny(metadata=_metadata("mamba", values), tensors=tensors)


def hybrid(tokens: int, spoken: list[int]) -> Tiny:
    """Jamba: a layer of attention between two with a state. Arguments as above."""
    random = np.random.RandomState(2)
    tensors = _ends(random, tokens, spoken, loudness=0.1)
    for layer in range(3):
        tensors |= _named(layer, attn_norm=np.ones(WIDTH), ffn_norm=np.ones(WIDTH))
        tensors |= _feed_forward(random, layer)
        if layer == 1:
            tensors |= _attention(random, layer)
        else:
            tensors |= _state_space(random, layer)
            ones = {"ssm_dt_norm": RANK, "ssm_b_norm": STATE, "ssm_c_norm": STATE}
            tensors |= _named(layer, **{name: np.ones(size) for name, size in ones.items()})
    values = _state_space_values() | _attention_values()
    values |= {"block_count": 3, "attention.head_count_kv": [0, HEADS, 0]}
    return Tiny(metadata=_metadata("jamba", values), tensors=tensors)


def sliding(tokens: int, spoken: list[int]) -> Tiny:
    """Gemma 3: of four layers three see only the last WINDOW tokens. Arguments as above."""
    random = np.random.RandomState(3)
    tensors = _ends(random, tokens, spoken, loudness=0.02)
    wide = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    for layer in range(4):
        tensors |= _attention(random, layer) | _feed_forward(random, layer)
        tensors |= _named(layer, **{name: np.ones(WIDTH) for name in wide})
        tensors |= _named(layer, attn_q_norm=np.ones(HEAD), attn_k_norm=np.ones(HEAD))
    values = _attention_values() | {"block_count": 4, "attention.head_count_kv": HEADS}
    values |= {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": 4}
    return Tiny(metadata=_metadata("gemma3", values), tensors=tensors)


def _metadata(architecture: str, values: Mapping[str, Any]) -> dict[str, Any]:
    common = {
        "context_length": 4096,
        "embedding_length": WIDTH,
        "attention.layer_norm_rms_epsilon": 1e-6,
    }
    return {
        "general.architecture": architecture,
        "general.name": f"tiny {architecture}",
        "general.file_type": 7,  # Q8_0
    } | {f"{architecture}.{key}": value for key, value in (common | dict(values)).items()}


def _attention_values() -> dict[str, Any]:
    return {
        "feed_forward_length": FEED_FORWARD,
        "attention.head_count": HEADS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
    }


def _state_space_values() -> dict[str, Any]:
    return {
        "ssm.conv_kernel": CONV,
        "ssm.inner_size": INNER,
        "ssm.state_size": STATE,
        "ssm.time_step_rank": RANK,
        "feed_forward_length": 0,
    }


def _ends(
    random: np.random.RandomState, tokens: int, spoken: list[int], *, loudness: float
) -> Tensors:
    """From tokens to numbers and back; a row of zeros in the output never has the largest logit.

    The lower the `loudness`, the less the last token weighs against those before it.
    """
    output = np.zeros((tokens, WIDTH))
    output[spoken] = random.standard_normal((len(spoken), WIDTH)) / 2
    embedding = loudness * random.standard_normal((tokens, WIDTH))
    named = {"token_embd": embedding, "output_norm": np.ones(WIDTH), "output": output}
    return {f"{name}.weight": _single(tensor) for name, tensor in named.items()}


def _attention(random: np.random.RandomState, layer: int) -> Tensors:
    square = {name: _matrix(random, WIDTH, WIDTH) for name in ("attn_v", "attn_output")}
    sharp = {name: 3 * _matrix(random, WIDTH, WIDTH) for name in ("attn_q", "attn_k")}
    return _named(layer, **square, **sharp)


def _feed_forward(random: np.random.RandomState, layer: int) -> Tensors:
    up = {name: _matrix(random, FEED_FORWARD, WIDTH) for name in ("ffn_gate", "ffn_up")}
    return _named(layer, **up, ffn_down=_matrix(random, WIDTH, FEED_FORWARD))


def _state_space(random: np.random.RandomState, layer: int) -> Tensors:
    """A Mamba layer, initialised as its paper does: steps from 0.001 to 0.1, decay 1 to STATE."""
    steps = np.exp(random.uniform(np.log(0.001), np.log(0.1), INNER))
    named = _named(
        layer,
        ssm_in=_matrix(random, 2 * INNER, WIDTH),
        ssm_conv1d=_matrix(random, INNER, CONV),
        ssm_x=_matrix(random, RANK + 2 * STATE, INNER),
        ssm_dt=_matrix(random, INNER, RANK) / 10,
        ssm_out=_matrix(random, WIDTH, INNER),
    )
    bare = {
        "ssm_conv1d.bias": np.zeros(INNER),
        "ssm_dt.bias": np.log(np.expm1(steps)),  # softplus makes steps of them
        "ssm_a": np.tile(-np.arange(1.0, STATE + 1), (INNER, 1)),
        "ssm_d": np.ones(INNER),
    }
    return named | {f"blk.{layer}.{name}": _single(tensor) for name, tensor in bare.items()}


def _matrix(random: np.random.RandomState, rows: int, columns: int) -> Array:
    """Keeps the size of what it multiplies."""
    matrix: Array = random.standard_normal((rows, columns)) / columns**0.5
    return matrix


def _named(layer: int, **tensors: Array) -> Tensors:
    return {f"blk.{layer}.{name}.weight": _single(tensor) for name, tensor in tensors.items()}


def _single(tensor: Array) -> Array:
    return np.ascontiguousarray(tensor, dtype=np.float32)
