"""Tries a model in a child process, where a crash of the engine costs nothing.

Asserts and exceptions in the engine end a process without a word. What a header cannot show, and
whether this build of the engine runs on this CPU at all, is tried once and remembered.
"""

from __future__ import annotations

import signal
from pathlib import Path

from nextok.backends.child import child_command, run_child
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
            child_command("nextok.backends.trial", str(path)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
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


def main(path: str) -> None:
    """The child: everything a generation does to a file, once."""
    from nextok.backends.llama_weights import LlamaWeights
    from nextok.backends.options import ContextOptions, LoadOptions
    from nextok.generation.abort import Abort

    abort = Abort()
    weights = LlamaWeights.load(Path(path), LoadOptions(gpu_layers=0), abort)
    tokens = weights.tokenizer.encode("Hello \u00e9\n", special=True)[:8] or [0]
    model = weights.open(ContextOptions(context_size=64, batch_size=32, ubatch_size=32), abort)
    model.prefill(tokens, model.new_cache())


if __name__ == "__main__":
    run_child(main)
