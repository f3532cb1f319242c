"""What `--latency` takes of the decode tokens/s, into a pseudo-terminal that is read at once.

Measured: the same answer (`-t 1`, a seed, `--ignore-eos`) with and without the live figures, by its
own `--stats`; --latency-color beside it. Runs alternate; a ratio is that of two neighbours.

    python benchmarks/latency.py [--runs 7] [--tokens 200] [--model starter|gemma|FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import models
from processes import NEXTOK, in_turn, pairwise, run, verdict

BAR = 0.99
PROMPT = "Why is the sky blue?"
SEED = "7"
MARKS = {"--latency": b"\x1b[K\x1b8", "--latency-color": b"\x1b[22;39m"}
"""What is in the output when they have done something."""


@contextlib.contextmanager
def terminal(output: bytearray) -> Iterator[int]:
    """A pseudo-terminal of 80 columns; what is written there is read into `output` at once."""
    ours, theirs = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    reader = threading.Thread(target=_read, args=(ours, output), daemon=True)
    reader.start()
    try:
        yield theirs
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)


def _read(descriptor: int, output: bytearray) -> None:
    with contextlib.suppress(OSError):  # the last one at the other end has closed it
        while data := os.read(descriptor, 1 << 16):
            output += data


def speed(model: Path, tokens: int, *flags: str) -> float:
    """Tokens a second."""
    command = ["env", "TERM=xterm-256color", NEXTOK, "generate", "-m", str(model), PROMPT, *flags]
    command += ["-t", "1", "--seed", SEED, "--ignore-eos", "-n", str(tokens), "--stats"]
    output = bytearray()
    with terminal(output) as descriptor:
        ran = run(command, output=descriptor)
    found = re.search(r"([\d.]+) tokens/s · \d+ thread", ran.err)
    if ran.code != 0 or found is None:
        raise SystemExit(f"{' '.join(command)[:200]}: exit code {ran.code}\n{ran.err}")
    if any(MARKS[flag] not in output for flag in flags):
        raise SystemExit(f"{flags} showed nothing")
    return float(found[1])


def measure(name: str, model: Path, runs: int, tokens: int) -> None:
    """Print one model's figures."""

    def with_flags(*flags: str) -> Callable[[], float]:
        return lambda: speed(model, tokens, *flags)

    plain, *others = in_turn(runs, with_flags(), *(with_flags(flag) for flag in MARKS))
    print(f"{name}: {median(plain):.1f} tokens/s without")
    for flag, speeds in zip(MARKS, others, strict=True):
        ratio = pairwise(speeds, plain)
        print(
            f"{name}: {median(speeds):.1f} tokens/s with {flag}, ratio {ratio:.3f}  "
            f"{verdict(ratio, BAR, at_least=True)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--model", default="all")
    asked = parser.parse_args()
    for name, path in models.chosen(asked.model):
        measure(name, path, asked.runs, asked.tokens)


if __name__ == "__main__":
    main()
