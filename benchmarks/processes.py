"""Runs commands and measures them whole: wall clock, CPU time, peak memory.

nextok runs with settings of its own, so that neither a config file nor the environment counts.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

HERE = Path(__file__).resolve().parent
NEXTOK = str(Path(sys.executable).with_name("nextok"))
BARE = [sys.executable, str(HERE / "bare_decode.py")]

_HOME = tempfile.TemporaryDirectory(prefix="nextok-benchmarks-")
_OURS = ("NEXTOK_", "PYTHON")  # PYTHONDONTWRITEBYTECODE would compile every module, every time
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
    **{f"XDG_{name}_HOME": _HOME.name for name in ("CONFIG", "CACHE", "DATA", "STATE")},
    "HOME": _HOME.name,
}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run. Times in seconds; memory in MiB."""

    code: int
    out: str
    err: str
    wall: float
    cpu: float
    """User and system time together: what other processes take away shows less in it."""
    peak: float


def run(command: Sequence[str], *, output: int | None = None) -> Ran:
    """Run a command to its end, its input empty, its output in pipes or in a descriptor."""
    with tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output is None else output,
            stderr=errors,
            env=ENVIRONMENT,
        )
        out = child.stdout.read() if child.stdout else b""
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return Ran(
            code=child.returncode,
            out=out.decode(),
            err=errors.read().decode(),
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak=usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10),
        )


def succeeded(command: Sequence[str]) -> Ran:
    """The same, of a command that must not fail."""
    ran = run(command)
    if ran.code != 0:
        raise SystemExit(f"{' '.join(command)[:200]}: exit code {ran.code}\n{ran.err}")
    return ran


def in_turn(count: int, *measures: Callable[[], float]) -> list[list[float]]:
    """Take each measure `count` times, A B A B, so that all see the same weather."""
    rounds = [[measure() for measure in measures] for _ in range(count)]
    return [list(values) for values in zip(*rounds, strict=True)]


def pairwise(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of neighbouring runs."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Where that median lies with 95 % confidence, as draws of the pairs with repetition tell."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    draw = Random(1)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return percentile(medians, 2.5), percentile(medians, 97.5)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def verdict(value: float, bar: float, *, at_least: bool = False) -> str:
    """A figure's bar, and whether it is met."""
    met = value >= bar if at_least else value <= bar
    return f"bar {'≥' if at_least else '≤'} {bar:g}: {'met' if met else 'MISSED'}"
