"""Tries a model in a child process, where a crash of the engine costs nothing.

Asserts and exceptions in the engine end a process without a word. What a header cannot show, and
whether this build of the engine runs on this CPU at all, is tried once and remembered.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from nextok.backends.llama_library import library_path
from nextok.backends.seen_files import SeenFiles
from nextok.generation.errors import EngineError, ModelError

_PATIENCE = 300
"""Seconds: a large model comes from a slow disk, and one token is computed with it."""

_ENGINE_HINT = (
    "rebuild it for this machine: pip install --force-reinstall --no-cache-dir "
    "--no-binary :all: llama-cpp-python==0.3.36"
)


def ensure_survives(path: Path, seen: SeenFiles) -> None:
    """Run the trial unless both this file and this engine have passed one. Raises its finding."""
    engine, cpu = library_path(), f"runs on {_cpu()}"
    if seen.has(engine, cpu) and seen.has(path, "trial"):
        return
    run_trial(path)
    seen.add(engine, cpu)
    seen.add(path, "trial")


def run_trial(path: Path) -> None:
    """Load the file and decode one token, in a child."""
    import subprocess  # seldom needed, and it takes 5 ms

    try:
        child = subprocess.run(
            [sys.executable, "-m", "nextok.backends.trial", str(path), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=child_environment(),
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"{path}: the engine does not finish loading it in {_PATIENCE} s: fetch it again"
        ) from None
    if child.returncode == 0:
        return
    said = child.stderr.decode(errors="replace").strip().splitlines()
    if child.returncode == -signal.SIGILL:
        raise EngineError(f"the engine uses CPU features that this CPU lacks; {_ENGINE_HINT}")
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        raise ModelError(f"{path}: this file crashes the engine ({name}): fetch it again")
    reason = (said[-1] if said else "the engine does not run it").removeprefix(f"{path}: ")
    raise ModelError(f"{path}: {reason}: get the file from another source")


def _cpu() -> str:
    """What names this kind of CPU: the engine was built for one."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()


def main(path: Path) -> None:
    """The child: everything a generation does to a file, once."""
    from nextok.backends.llama_weights import LlamaWeights
    from nextok.backends.options import ContextOptions, LoadOptions
    from nextok.generation.abort import Abort

    abort = Abort()
    weights = LlamaWeights.load(path, LoadOptions(gpu_layers=0), abort)
    tokens = weights.tokenizer.encode("Hello \u00e9\n", special=True)[:8] or [0]
    model = weights.open(ContextOptions(context_size=64, batch_size=32, ubatch_size=32), abort)
    model.prefill(tokens, model.new_cache())


def child_environment() -> Mapping[str, str]:
    """For a child that runs a module of ours: whatever lies in the current folder is none of it.

    Python 3.10 does not know the setting, and looks there first.
    """
    return {**os.environ, "PYTHONSAFEPATH": "1"}


def end_with(parent: int) -> None:
    """Nobody waits for the result of a trial whose parent is gone."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


if __name__ == "__main__":
    # By its number: it may be gone, and this process another's child, before it can be asked.
    threading.Thread(target=end_with, args=(int(sys.argv[2]),), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the parent takes its signals in a thread
    try:
        main(Path(sys.argv[1]))
    except (ModelError, EngineError) as error:
        sys.exit(str(error))
