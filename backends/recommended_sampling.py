"""The sampling settings a GGUF file recommends, under the names they have here.

Keys: llama.cpp, src/llama-arch.cpp, `general.sampling.*`; their use: common/common.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from nextok.generation.sampling import SAMPLERS

_SEQUENCE = "general.sampling.sequence"

#: Keys of the file, and the fields of Sampling they set.
RECOMMENDED = {
    "general.sampling.temp": "temperature",
    "general.sampling.top_k": "top_k",
    "general.sampling.top_p": "top_p",
    "general.sampling.min_p": "min_p",
    "general.sampling.xtc_probability": "xtc_probability",
    "general.sampling.xtc_threshold": "xtc_threshold",
    "general.sampling.penalty_last_n": "repeat_last_n",
    "general.sampling.penalty_repeat": "repeat_penalty",
    "general.sampling.mirostat": "mirostat",
    "general.sampling.mirostat_tau": "mirostat_ent",
    "general.sampling.mirostat_eta": "mirostat_lr",
    _SEQUENCE: "samplers",
}


def recommended_sampling(metadata: Mapping[str, object]) -> dict[str, str]:
    """Fields of Sampling with the file's values as texts, as a flag would be given them.

    Ranges are not checked: that is done where all settings come together.
    """
    found = {}
    for key, field in RECOMMENDED.items():
        value = metadata.get(key)
        text = _samplers(value) if key == _SEQUENCE else _text(value)
        if text is not None:
            found[field] = text
    return found


def _samplers(value: object) -> str | None:
    """Names joined by semicolons; those we do not have are left out, as the engine does."""
    names = [name.strip() for name in value.split(";")] if isinstance(value, str) else []
    return ";".join(name for name in names if name in SAMPLERS) or None


def _text(value: object) -> str | None:
    """A number the short way; what is neither number nor text is left out."""
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    """Files hold 32-bit floats: 0.95 there is 0.949999988…; give back what was meant."""
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.7g}" if math.isfinite(number) else text
