"""The engine's shared library: loaded once, quiet, and unable to die without a word.

Loads the bindings' ctypes module alone. Their package's `__init__` brings numpy, jinja2 and a
disk cache, which take five times as long to import as the module itself.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import sys
import types
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from nextok.generation.errors import EngineError

#: ggml.h's levels (the bindings' own table is out of date).
INFO, WARN, CONTINUED = 2, 3, 5
_FIRST_CPU = 4096
"""Bytes that /proc/cpuinfo has of it, at most; of all, a large machine takes its time."""


class EngineLog:
    """What the engine has to say; it never reaches the terminal by itself.

    Keeps warnings and worse. `listener` is told all but debugging, from any of its threads.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.listener: Callable[[str], None] | None = None
        self._level = 0

    def __call__(self, level: int, text: bytes | None, _data: object) -> None:
        if level != CONTINUED:
            self._level = level
        if not text or self._level < (WARN if self.listener is None else INFO):
            return
        line = text.decode(errors="replace").strip()
        if self._level >= WARN:
            self.lines.append(line)
        if self.listener is not None and line.strip("."):
            self.listener(line)

    def clear(self) -> None:
        """Forget what was said so far, before a call whose words matter."""
        self.lines.clear()

    def reason(self) -> str:
        """The last thing said, as a reason for a failure."""
        spoken = [line for line in self.lines if line]
        loading = [line for line in spoken if "error loading model" in line]
        line = (loading or spoken or ["the engine gave no reason"])[-1]
        for noise in ("error loading model vocabulary: ", "error loading model: "):
            line = line.rsplit(noise, 1)[-1]
        return line.removeprefix("llama_model_load: ")


log = EngineLog()
_callbacks: list[object] = []  # C calls them for as long as the process lives


@cache
def library() -> Any:
    """The bindings' ctypes module, ready for use. EngineError when it cannot be loaded."""
    # Without this an abort forks a debugger and prints its backtrace.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    try:
        module = _bindings()
    except (ImportError, RuntimeError, OSError) as error:
        raise EngineError(
            f"the engine does not load: {error}; reinstall it with "
            "pip install --force-reinstall --no-binary :all: llama-cpp-python"
        ) from error
    _listen(module)
    _last_words(module)
    module.llama_backend_init()
    return module


def library_path() -> Path:
    """The file of the engine's library, found without loading it."""
    spec = importlib.util.find_spec("llama_cpp")
    folders = (spec.submodule_search_locations if spec else None) or []
    named = os.environ.get("LLAMA_CPP_LIB_PATH")
    places = [Path(named)] if named else [Path(folder) / "lib" for folder in folders]
    names = ("libllama.so", "libllama.dylib")
    found = (place / name for place in places for name in names)
    path = next((path for path in found if path.exists()), None)
    if path is None and named:
        raise EngineError(f"LLAMA_CPP_LIB_PATH is {named}, and the engine's library is not in it")
    if path is None:
        raise EngineError("the engine is not installed: pip install llama-cpp-python==0.3.36")
    return path


def _bindings() -> types.ModuleType:
    """The module without its package's `__init__`, and without typing_extensions.

    It takes TypeAlias from there, which typing has too, at a third of its own import time.
    """
    _import_without_package_code("llama_cpp")
    name = "typing_extensions"
    stands_in = name not in sys.modules
    if stands_in:
        sys.modules[name] = typing
    try:
        return importlib.import_module("llama_cpp.llama_cpp")
    finally:
        if stands_in:
            del sys.modules[name]


def _import_without_package_code(name: str) -> None:
    """Register the package as bare, so that importing its modules runs no `__init__`."""
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"{name} is not installed")
    package = types.ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    package.__spec__ = spec
    sys.modules[name] = package


def _listen(module: Any) -> None:
    callback = module.llama_log_callback(log)
    _callbacks.append(callback)
    module.llama_log_set(callback, None)


def _last_words(module: Any) -> None:
    """Turn a failed assertion in the engine into one line and exit code 1."""

    def stop(message: bytes | None) -> None:
        text = (message or b"").decode(errors="replace").strip().replace("\n", " ")
        os.write(2, f"nextok: error: the engine gave up: {text}\n".encode())
        os._exit(1)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(stop)
    _callbacks.append(callback)
    # Through the library the bindings loaded: opened by path it would be a second copy.
    module._lib.ggml_set_abort_callback(callback)


def has_amx() -> bool:
    """Whether this build multiplies with the AMX tiles of the CPU."""
    return b"AMX_INT8 = 1" in library().llama_print_system_info()


@cache
def takes_halves_by_128() -> bool:
    """Whether this build computes with the CPU's AVX512-FP16, of which it says nothing itself."""
    if b"AVX512_BF16 = 1" not in library().llama_print_system_info():
        return False
    try:
        with open("/proc/cpuinfo", "rb") as file:
            return b" avx512_fp16" in file.read(_FIRST_CPU)
    except OSError:
        return False


def supports_gpu() -> bool:
    """Whether this build can offload layers to a GPU."""
    return bool(library().llama_supports_gpu_offload())
