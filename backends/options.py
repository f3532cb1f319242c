"""How a model is loaded, and what a context is made for."""

from __future__ import annotations

from dataclasses import dataclass

CONTEXT_STEP = 256
"""The engine rounds a context up to a multiple of so many tokens."""


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How weights are brought into memory."""

    gpu_layers: int = -1
    """Layers to offload; -1 all. Without GPU support nothing is offloaded."""
    mmap: bool = True
    mlock: bool = False
    vocabulary_only: bool = False


@dataclass(frozen=True, kw_only=True)
class ContextOptions:
    """What a context is made for. Sizes in tokens."""

    context_size: int
    sequences: int = 1
    threads: int = 1
    batch_size: int = 512
    ubatch_size: int = 512
    flash_attention: str = "auto"
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
