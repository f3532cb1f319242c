"""What an exported KV state depends on: the model, the engine, and some of the settings.

Promises that two contexts with the same identity take up each other's states and go on as if
they had computed them. Which sizes do not matter is listed; any other setting does.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from contextlib import suppress

from nextok.backends.llama_library import library
from nextok.backends.options import CONTEXT_STEP, ContextOptions

#: Of ContextOptions. All but `sequences` and `unified` enter in other ways, see below.
_NOT_IN_A_STATE = frozenset(
    {"context_size", "sequences", "threads", "batch_size", "ubatch_size", "unified"}
)
_EXACT_ROWS = 63


def state_identity(
    fingerprint: str,
    options: ContextOptions,
    metadata: Mapping[str, str],
    *,
    gpu_layers: int,
    computes_exactly: bool,
) -> str:
    """A text of 64 characters.

    fingerprint: of the model file. metadata, computes_exactly: what the weights say of
    themselves. gpu_layers: how many were asked for.
    """
    import hashlib

    settings = {
        name: value for name, value in options._asdict().items() if name not in _NOT_IN_A_STATE
    }
    parts = (
        fingerprint,
        _engine(),
        gpu_layers,
        settings,
        _stretches_positions(options.context_size, metadata),
        computes_exactly and _is_exact(options),
    )
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _engine() -> tuple[str, ...]:
    """Its version, the commit it was built from, and what of the processor it uses."""
    llama = library()
    texts = [llama.llama_version(), llama.llama_print_system_info()]
    with suppress(AttributeError):  # a build may hide it
        commit = llama._lib.ggml_commit
        commit.restype = ctypes.c_char_p
        texts.append(commit())
    return tuple((text or b"").decode(errors="replace") for text in texts)


def _stretches_positions(context_size: int, metadata: Mapping[str, str]) -> bool:
    """Models with two sets of RoPE factors choose by the size of the context.

    llama.cpp, llama_model::get_rope_factors.
    """
    architecture = metadata.get("general.architecture", "")
    for key in ("rope.scaling.original_context_length", "context_length"):
        length = metadata.get(f"{architecture}.{key}", "")
        if length.isdigit():
            return -(-context_size // CONTEXT_STEP) * CONTEXT_STEP > int(length)
    return False


def _is_exact(options: ContextOptions) -> bool:
    """Whether a row comes out the same in every batch: such runs take no state of other ones."""
    return (
        options.threads == 1
        and options.flash_attention != "off"
        and min(options.batch_size, options.ubatch_size) <= _EXACT_ROWS
    )
