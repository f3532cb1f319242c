"""The sampling settings a GGUF file recommends, under the names they have here.

Keys: llama.cpp, src/llama-arch.cpp, `general.sampling.*`; their use: common/common.cpp.
"""

from __future__ import annotations

import math

from nextok.backends.gguf_header import Header
from nextok.generation.sampling import SAMPLERS

_WHOLE = {"top_k": "top_k", "penalty_last_n": "repeat_last_n", "mirostat": "mirostat"}
_REAL = {
    "top_p": "top_p",
    "min_p": "min_p",
    "xtc_probability": "xtc_probability",
    "xtc_threshold": "xtc_threshold",
    "temp": "temperature",
    "penalty_repeat": "repeat_penalty",
    "mirostat_tau": "mirostat_ent",
    "mirostat_eta": "mirostat_lr",
}


def recommended_sampling(header: Header) -> dict[str, int | float | tuple[str, ...]]:
    """Field names of Sampling with the file's values; what has a wrong type is left out.

    Ranges are not checked: that is done where all settings come together.
    """
    found: dict[str, int | float | tuple[str, ...]] = {}
    for key, field in _WHOLE.items():
        whole = header.integer(f"general.sampling.{key}")
        if whole is not None:
            found[field] = whole
    for key, field in _REAL.items():
        real = header.metadata.get(f"general.sampling.{key}")
        if isinstance(real, int | float) and not isinstance(real, bool) and math.isfinite(real):
            found[field] = _shortest(float(real))
    order = _samplers(header.text("general.sampling.sequence"))
    if order:
        found["samplers"] = order
    return found


def _samplers(sequence: str | None) -> tuple[str, ...]:
    """Names joined by semicolons; the ones we do not have are left out, as the engine does."""
    names = (name.strip() for name in (sequence or "").split(";"))
    return tuple(name for name in names if name in SAMPLERS)


def _shortest(value: float) -> float:
    """Files hold 32-bit floats: 0.95 there is 0.949999988…; give back what was meant."""
    return float(f"{value:.7g}")
