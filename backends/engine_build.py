"""What the installed engine is: for people who wonder why it is slow, or where the GPU went."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nextok.backends.llama_library import library, library_path, supports_gpu


@dataclass(frozen=True, kw_only=True)
class EngineBuild:
    """One build of the engine."""

    name: str
    path: Path
    """Of the shared object that is loaded."""
    features: tuple[str, ...]
    """What it was built to use of the CPU, among other switches: AVX2, FMA, OPENMP."""
    gpu: bool
    devices: tuple[str, ...]
    """Name and description of all it can compute on."""


def engine_build() -> EngineBuild:
    """Ask it. Raises EngineError when it does not load."""
    return EngineBuild(
        name=f"llama-cpp-python {version('llama-cpp-python')}",
        path=library_path(),
        features=_features(library().llama_print_system_info().decode(errors="replace")),
        gpu=supports_gpu(),
        devices=tuple(_devices(library()._lib)),
    )


def _features(info: str) -> tuple[str, ...]:
    """From `CPU : SSE3 = 1 | AVX2 = 1 | OPENMP = 1 | `, whatever is on."""
    pairs = (part.rpartition(":")[2].split("=") for part in info.split("|"))
    return tuple(pair[0].strip() for pair in pairs if len(pair) == 2 and pair[1].strip() == "1")


def _devices(ggml: Any) -> list[str]:
    """The bindings have no wrappers for these calls."""
    ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    ggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    ggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    texts = (ggml.ggml_backend_dev_name, ggml.ggml_backend_dev_description)
    for function in texts:
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_void_p]
    handles = [ggml.ggml_backend_dev_get(n) for n in range(ggml.ggml_backend_dev_count())]
    return [
        ": ".join(function(handle).decode(errors="replace") for function in texts)
        for handle in handles
    ]
