"""From the signal, and from the reader's going away, to the end of the process.

Measured: SIGINT sent, or the read end of its stdout closed, until the process is gone (waited
for), at a random moment of three phases: while the model loads (the engine has its file open),
in the middle of a 6,000-token prefill, while it decodes. Each run must end as promised: death by
SIGINT, or by SIGPIPE, with nothing on standard error. Against: the bar of 150 ms for p95.

    python benchmarks/endings.py [--runs 40] [--only PHASE] [--depth 3000]

The prefill is interrupted once `depth` of its tokens are read, which takes most of the time this
script takes. Linux only: it looks into /proc for the phase `load`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import models
from processes import ENVIRONMENT, NEXTOK, percentile, succeeded, verdict

BAR_MS = 150
ENDLESS = ["-q", "-t", "1", "-n", "100000", "--ignore-eos"]

Child = subprocess.Popen[bytes]
End = Callable[[Child], int]


@dataclass(frozen=True)
class Phase:
    """Where a run is ended: `reached` waits for it."""

    name: str
    arguments: list[str]
    reached: Callable[[Child], None]


def interrupt(child: Child) -> int:
    """Ctrl-C; the code that must follow."""
    child.send_signal(signal.SIGINT)
    return -signal.SIGINT


def stop_reading(child: Child) -> int:
    """The reader goes away; the code that must follow."""
    os.close(output(child))
    return -signal.SIGPIPE


def loading(model: Path, seconds: float, child: Child) -> None:
    """Somewhere in the load, which takes `seconds`."""
    while child.poll() is None and not has_open(child.pid, model):
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.9 * seconds))


def prefilling(depth: int, child: Child) -> None:
    """`depth` tokens of the prompt are read, and some more."""
    done = -1
    for line in iter(partial(read_line, child), b""):
        event = json.loads(line)
        done = event["done"] if event["type"] == "prefill" else done
        if done >= depth:
            break
    time.sleep(random.uniform(0.02, 0.5))


def decoding(child: Child) -> None:
    """It has begun to speak."""
    os.read(output(child), 1)
    time.sleep(random.uniform(0.05, 0.5))


LOADS: dict[str, tuple[Callable[[], Path], list[str]]] = {
    "load starter": (models.starter, []),
    "load gemma": (models.gemma, []),
    "load 2 GB": (models.large, []),
    "load 2 GB --no-mmap": (models.large, ["--no-mmap"]),
}


def load_phase(name: str) -> Phase:
    """Timed once, so that the moment can be chosen."""
    find, flags = LOADS[name]
    chosen = ["-m", str(find()), "--raw", *flags, "hi"]
    succeeded([NEXTOK, "-n", "0", *chosen])  # the file is checked once and remembered
    report = json.loads(succeeded([NEXTOK, "--json", "-n", "0", *chosen]).out)
    seconds = report["timings"]["load_s"]
    print(f"{name}: {seconds:.2f} s")
    return Phase(name, chosen, partial(loading, find(), seconds))


def prefill_phase(name: str, depth: int, prompt: Path) -> Phase:
    """A long document."""
    asked = ["--raw", "--jsonl", "-c", "8192", "-f", str(prompt)]
    return Phase(name, ["-m", str(models.starter()), *asked], partial(prefilling, depth))


def phases(chosen: str, depth: int, prompt: Path) -> Iterator[Phase]:
    """Those whose name begins so."""
    yield from (load_phase(name) for name in LOADS if name.startswith(chosen))
    if "prefill starter".startswith(chosen):
        yield prefill_phase("prefill starter", depth, prompt)
    for name, find in (("decode starter", models.starter), ("decode gemma", models.gemma)):
        if name.startswith(chosen):
            yield Phase(name, ["-m", str(find()), "hi"], decoding)


def ending(phase: Phase, end: End) -> float:
    """Milliseconds from what ends it to its end."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [NEXTOK, *ENDLESS, *phase.arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            env=ENVIRONMENT,
        )
        phase.reached(child)
        began = time.monotonic()
        expected = end(child)
        code = child.wait()
        took = time.monotonic() - began
        errors.seek(0)
        said = errors.read().decode()
    if code != expected or said:
        raise SystemExit(f"{phase.name}: {end.__name__}: exit code {code}, said {said!r}")
    return took * 1000


def output(child: Child) -> int:
    """The read end of the child's stdout."""
    assert child.stdout is not None
    return child.stdout.fileno()


def read_line(child: Child) -> bytes:
    assert child.stdout is not None
    return child.stdout.readline()


def has_open(pid: int, path: Path) -> bool:
    """Whether the process has the file open."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{name}") == str(path) for name in os.listdir(folder))
    except OSError:  # a descriptor that was closed meanwhile
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--only", default="", help="the beginning of a phase's name")
    parser.add_argument("--depth", type=int, default=3000, help="tokens read before the end")
    asked = parser.parse_args()
    # A shell's background job ignores Ctrl-C, and so would nextok.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as prompt:
        prompt.write("one two " * 3000)  # 6,000 tokens of the starter
        prompt.flush()
        for phase in phases(asked.only, asked.depth, Path(prompt.name)):
            for end in (interrupt, stop_reading):
                times = [ending(phase, end) for _ in range(asked.runs)]
                p95 = percentile(times, 95)
                print(
                    f"{phase.name}, {end.__name__}: p50 {percentile(times, 50):.0f}, "
                    f"p95 {p95:.0f}, max {max(times):.0f} ms  {verdict(p95, BAR_MS)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
