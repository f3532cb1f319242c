"""Whether a context fits into memory: asked before it is allocated.

The engine fills the whole KV cache when it makes a context, and the kernel kills who takes too
much. Weights do not count: they are mapped, and the kernel can drop them.
"""

from __future__ import annotations

from nextok.backends.gguf_header import Header
from nextok.backends.kv_size import kv_bytes
from nextok.backends.memory import available_bytes
from nextok.generation.errors import EngineError

_MIB = 1 << 20


def check_context_fits(
    header: Header,
    tokens: int,
    *,
    type_k: str = "f16",
    type_v: str = "f16",
    sequences: int = 1,
    swa_full: bool = True,
    available: int | None = None,
) -> None:
    """Raise EngineError when the KV cache alone takes more than there is.

    `available` is in bytes, by default what `available_bytes` says. A cache whose size the header
    does not tell passes, and so does one that slides while `swa_full` is off.
    """
    slides = (header.integer(header.of_architecture("attention.sliding_window")) or 0) > 0
    need = kv_bytes(header, tokens, type_k=type_k, type_v=type_v, sequences=sequences)
    have = available_bytes() if available is None else available
    if need is None or have is None or (slides and not swa_full) or need <= have:
        return
    raise EngineError(
        f"--ctx-size {tokens} needs {-(-need // _MIB)} MiB for the KV cache and"
        f" {have // _MIB} MiB are available: lower --ctx-size"
    )
