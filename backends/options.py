"""How a model is loaded, and what a context is made for."""

from typing import NamedTuple

CONTEXT_STEP = 256
"""The engine rounds a context up to a multiple of so many tokens."""


class LoadOptions(NamedTuple):
    """How weights are brought into memory."""

    gpu_layers: int = -1
    """Layers to offload; -1 all. Without GPU support nothing is offloaded."""
    mmap: bool = True
    mlock: bool = False
    vocabulary_only: bool = False


class ContextOptions(NamedTuple):
    """What a context is made for. Sizes in tokens."""

    context_size: int
    sequences: int = 1
    threads: int = 1
    batch_size: int = 512
    ubatch_size: int = 512
    flash_attention: str = "auto"
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    unified: bool = True
    """Whether sequences share their memory, so that a fork takes none; else each has its own part
    of it, as large as the others', where tokens lie in their order whatever the others do."""
