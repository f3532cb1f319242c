"""Decode tokens/s of `--threads auto` against fixed counts, quiet and beside busy neighbours.

Measured: the plain path into a pipe, from token 20 to 200, by the times in its `--trace`. Against:
`-t` with every power of two up to the number of cores, and that number. First on the machine as it
is, then with a process that does nothing but compute for every core but one. All counts take turns,
auto among them; a ratio is that of neighbouring runs, against the count with the best median.

Then neighbours that come at token 50 and go when 150 more are said: what the slowest token took
after the first step down, against a token of one thread beside them.

A count that starves takes seconds for a token, so a run ends after `--limit` seconds; if it has not
come to token 200 by then, its speed is that of the tokens there are.

    python benchmarks/threads.py [--runs 5] [--limit 20] [--model starter|gemma|FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import models
from processes import ENVIRONMENT, NEXTOK, in_turn, pairwise, run, verdict

from nextok.backends.threads import default_threads

QUIET_BAR, BUSY_BAR, SLOWEST_BAR = 0.95, 0.8, 3.0
PROMPT = "Why is the sky blue?"
FIRST, LAST = 20, 200
COMES, GOES, ENDS = 50, 200, 400
"""Tokens."""
BUSY = [sys.executable, "-c", "while True: pass"]
_TIMED_OUT = 124


class Trace:
    """What a run has told so far, by its `--trace`."""

    def __init__(self, path: Path) -> None:
        written = path.read_text().splitlines() if path.exists() else []
        lines: list[dict[str, Any]] = [json.loads(line) for line in written if line[-1:] == "}"]
        self.tokens = [line for line in lines if line["type"] == "token"]
        self.changes = [line for line in lines if line["type"] == "threads"]

    @property
    def speed(self) -> float:
        """Tokens a second, from the first to the last that count."""
        times = [token["t_ms"] for token in self.tokens]
        span = times[FIRST : LAST + 1] if len(times) > FIRST + 1 else times
        return 1000 * (len(span) - 1) / (span[-1] - span[0]) if len(span) > 1 else 0.0

    @property
    def lowered(self) -> int | None:
        """The first token after a step down."""
        return next((line["i"] for line in self.changes), None)

    def slowest(self, first: int) -> float:
        """Milliseconds of the slowest token from `first` on."""
        return max((token["gap_ms"] or 0 for token in self.tokens[first:]), default=0.0)


class Runs:
    """Runs of one model."""

    def __init__(self, model: Path, limit: float) -> None:
        """limit: seconds."""
        self._folder = tempfile.TemporaryDirectory(prefix="nextok-threads-")
        self._path = Path(self._folder.name) / "trace.jsonl"
        self._command = [NEXTOK, "generate", "-m", str(model), "--ignore-eos"]
        self._command += ["--trace", str(self._path), "--timeout", str(limit)]

    def speed(self, threads: str) -> float:
        """Tokens a second with so many threads."""
        self._path.unlink(missing_ok=True)
        ran = run([*self._command, "-t", threads, "-n", str(LAST + 1), PROMPT])
        if ran.code not in (0, _TIMED_OUT):
            raise SystemExit(ran.err)
        return Trace(self._path).speed

    def company(self, count: int) -> Trace:
        """Neighbours come in the middle of a run, and go again."""
        self._path.unlink(missing_ok=True)
        command = [*self._command, "-n", str(ENDS), PROMPT]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT) as child:
            self._wait(child, COMES)
            with neighbours(count):
                self._wait(child, GOES)
        return Trace(self._path)

    def _wait(self, child: subprocess.Popen[bytes], tokens: int) -> None:
        while child.poll() is None and len(Trace(self._path).tokens) < tokens:
            time.sleep(0.02)


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Processes that each want a core."""
    busy = [subprocess.Popen(BUSY) for _ in range(count)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def fixed_counts(cores: int) -> list[int]:
    """1, 2, 4 … and all."""
    powers = [2**power for power in range(cores.bit_length()) if 2**power < cores]
    return [*powers, cores]


def compare(name: str, runs: Runs, rounds: int, counts: Sequence[int], bar: float) -> None:
    """Print every count's speed and auto's ratio to the best of them."""
    choices = ["auto", *map(str, counts)]
    measured = in_turn(rounds, *(partial(runs.speed, choice) for choice in choices))
    speeds = dict(zip(choices, measured, strict=True))
    for choice, values in speeds.items():
        print(
            f"{name}, -t {choice}: {median(values):.1f} tokens/s "
            f"({min(values):.1f} to {max(values):.1f})",
            flush=True,
        )
    best = max(choices[1:], key=lambda one: median(speeds[one]))
    ratio = pairwise(speeds["auto"], speeds[best])
    print(f"{name}: auto / -t {best} = {ratio:.3f}  {verdict(ratio, bar, at_least=True)}")


def company(runs: Runs, rounds: int, cores: int) -> None:
    """Print what the slowest token took after the first step down."""
    with neighbours(cores - 1):
        alone = median(1000 / runs.speed("1") for _ in range(rounds))
    for _ in range(rounds):
        trace = runs.company(cores - 1)
        told = ", ".join(f"{line['threads']} from token {line['i']}" for line in trace.changes)
        print(f"neighbours from token {COMES} to {GOES}: threads {told or 'unchanged'}", flush=True)
        if trace.lowered is not None:
            slowest = trace.slowest(trace.lowered)
            print(
                f"  slowest token after it {slowest:.0f} ms = {slowest / alone:.2f} × the "
                f"{alone:.1f} ms of one thread  {verdict(slowest / alone, SLOWEST_BAR)}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds")
    parser.add_argument("--model", default="starter")
    asked = parser.parse_args()
    known = {"starter": models.starter, "gemma": models.gemma}
    model = known[asked.model]() if asked.model in known else Path(asked.model)
    cores = default_threads()
    if cores == 1:
        raise SystemExit("with one core there is nothing to choose")
    runs, counts = Runs(model, asked.limit), fixed_counts(cores)
    compare("quiet", runs, asked.runs, counts, QUIET_BAR)
    with neighbours(cores - 1):
        compare("busy", runs, asked.runs, counts, BUSY_BAR)
    company(runs, asked.runs, cores)


if __name__ == "__main__":
    main()
