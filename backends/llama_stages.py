"""llama.cpp's sampler chain, applied link by link to a copy: what each of them leaves."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from nextok.backends.llama_library import library
from nextok.backends.llama_sampler import LlamaSampler
from nextok.backends.sampling_stages import Stage

_CHOOSING = ("dist", "greedy")
"""Links that draw and leave the distribution as it is."""
_IDLE = "?"
"""The engine begins the name of a link so that its settings have switched off."""
_NAMES = {"temp-ext": "temperature", "temp": "temperature"}


def llama_stages(sampler: LlamaSampler, first: Stage) -> Iterator[Stage]:
    """One for each link that does something, in the chain's order."""
    llama = library()
    # A link may draw random numbers: those of a clone are the same, and are not missed.
    chain = llama.llama_sampler_clone(sampler.chain)
    try:
        candidates = _Candidates(first)
        for place in range(llama.llama_sampler_chain_n(chain)):
            link = llama.llama_sampler_chain_get(chain, place)
            name = llama.llama_sampler_name(link).decode()
            if name in _CHOOSING or name.startswith(_IDLE):
                continue
            llama.llama_sampler_apply(link, ctypes.byref(candidates.array))
            yield candidates.stage(_NAMES.get(name, name))
    finally:
        llama.llama_sampler_free(chain)


class _Candidates:
    """The engine's array of candidates, in memory that numpy owns."""

    def __init__(self, first: Stage) -> None:
        import numpy as np

        llama = library()
        self._kind = np.dtype([("id", np.int32), ("score", np.float32), ("share", np.float32)])
        self._owned = np.zeros(len(first.ids), dtype=self._kind)
        self._owned["id"] = first.ids
        self._owned["score"] = first.scores
        pointer = ctypes.cast(self._owned.ctypes.data, ctypes.POINTER(llama.llama_token_data))
        self.array: Any = llama.llama_token_data_array(
            data=pointer, size=len(first.ids), selected=-1, sorted=False
        )

    def stage(self, step: str) -> Stage:
        """What is left in it, copied: a link may put the array into memory of its own."""
        import numpy as np

        size = self.array.size
        raw = ctypes.cast(self.array.data, ctypes.POINTER(ctypes.c_uint8))
        wide = self._kind.itemsize
        left = np.ctypeslib.as_array(raw, shape=(size * wide,)).view(self._kind)
        return Stage(step=step, ids=left["id"].copy(), scores=left["score"].copy())
