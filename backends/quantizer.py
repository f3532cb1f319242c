"""The engine's quantiser: a copy of a model file in another type, made in a child process.

The quantiser looks at no abort flag, and what it does not like of a file may end its process: a
child can be left, and its death is an error of ours.
"""

from __future__ import annotations

import os
import re
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import IO

from nextok.backends.child import child_command, run_child
from nextok.backends.ggml_types import FILE_TYPES
from nextok.backends.shown_text import shown
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError, ModelError, UsageError

QUANTIZATIONS = (
    "F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0", "Q4_K_M", "Q4_K_S",
    "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q2_K",
)  # fmt: skip
"""What can be made without an importance matrix, the finest first."""
_SHORT = {"Q5_K": "Q5_K_M", "Q4_K": "Q4_K_M", "Q3_K": "Q3_K_M", "FP16": "F16", "FP32": "F32"}
_NUMBERS = {name: number for number, name in FILE_TYPES.items()}
_LOOK_MS = 50
"""Between two looks at the abort flag."""
_PROGRESS = re.compile(rb"\[ *(\d+)/ *(\d+)\]")


def quantization(name: str) -> str:
    """The name as the engine has it. UsageError for what cannot be made."""
    known = _SHORT.get(name.strip().upper(), name.strip().upper())
    if known not in QUANTIZATIONS:
        raise UsageError(
            f"no {shown(name, 20)} can be made of a model: there are {', '.join(QUANTIZATIONS)}"
        )
    return known


def quantize(
    source: Path,
    target: Path,
    name: str,
    *,
    threads: int,
    abort: Abort,
    progress: Callable[[int, int], None],
) -> None:
    """Write the model `source`, a checked file, to `target` in the type `name`.

    progress: told how many tensors of how many are done. Raises ModelError when the engine does
    not do it, and Aborted; `target` may then hold anything.
    """
    import subprocess

    words = (str(source), str(target), name, str(threads))
    child = subprocess.Popen(
        child_command("nextok.backends.quantizer", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is ours: it would be taken for a failure
    )
    try:
        if child.stdout is not None:
            _follow(child.stdout, abort, progress)
        said = child.communicate()[1].decode(errors="replace").strip().splitlines()
    except BaseException:
        child.kill()
        child.communicate()
        raise
    if child.returncode:
        raise ModelError(
            f"{shown(source)}: the engine makes no {name} of it: {_why(child.returncode, said)}"
        )


def _follow(said: IO[bytes], abort: Abort, progress: Callable[[int, int], None]) -> None:
    """Listen until the child has nothing more to say. Raises Aborted."""
    poll = select.poll()  # unlike select, it takes descriptors of any number
    poll.register(said, select.POLLIN)
    while True:
        abort.check()
        if not poll.poll(_LOOK_MS):
            continue
        text = os.read(said.fileno(), 1 << 16)
        if not text:
            return
        for done, total in _PROGRESS.findall(text)[-1:]:
            progress(int(done), int(total))


def _why(code: int, said: list[str]) -> str:
    if code < 0:
        return f"it ended with {signal.Signals(-code).name}"
    return said[-1] if said else "it gave no reason"


def main(source: str, target: str, name: str, threads: str) -> None:
    """The child. EngineError with the engine's reason."""
    import ctypes

    from nextok.backends.llama_library import library, log

    llama = library()
    log.listener = lambda line: print(line, flush=True)
    params = llama.llama_model_quantize_default_params()
    params.ftype, params.nthread, params.allow_requantize = _NUMBERS[name], int(threads), True
    log.clear()
    if llama.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(params)):
        raise EngineError(log.reason())


if __name__ == "__main__":
    run_child(main)
