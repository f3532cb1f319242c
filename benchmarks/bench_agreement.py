"""Whether `nextok bench` and llama.cpp's own `llama-bench` measure the same.

Both are told the same sizes, batch, ubatch, thread and flash attention, and take one sample a run;
runs alternate, and a ratio is that of two neighbours. `llama-bench` is run over the copy of the
engine that nextok uses, so that compilers' switches make no difference (`--own-engine`: over the
one it was built with).

    python benchmarks/bench_agreement.py --llama-bench PATH [--runs 9] [--model starter|FILE]
        [--prefill 128,512,2048] [--depth 0,2048] [--tokens 64]
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import models
from processes import ENVIRONMENT, NEXTOK, interval, pairwise, succeeded

from nextok.backends.llama_library import library_path

BAR = 0.03
SETTINGS = ["-b", "512", "-ub", "128", "-t", "1", "-fa", "on"]
"""What both understand. llama-bench's own are larger batches."""

Speeds = Mapping[str, float]
"""Tokens a second by what was measured."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What is measured, as the flags have it."""

    prefill: str
    depth: str
    tokens: str


def ours(model: str, sizes: Sizes) -> Speeds:
    """One round of `nextok bench`."""
    what = ["--prefill", sizes.prefill, "--depth", sizes.depth, "--tokens", sizes.tokens]
    command = [NEXTOK, "bench", "-m", model, *SETTINGS, *what, "--runs", "1", "--json"]
    speeds = json.loads(succeeded(command).out)["speeds"]
    return {name(one): one["tokens_per_s"]["median"] for one in speeds}


def name(speed: Mapping[str, object]) -> str:
    """As `theirs` has it."""
    if speed["measure"] == "prefill":
        return f"prefill {speed['tokens']}"
    return f"decode at {speed['depth']}"


def theirs(path: str, model: str, sizes: Sizes) -> Speeds:
    """One round of `llama-bench`, its warm-up before."""
    command = [path, "-m", model, *SETTINGS, "-r", "1", "-o", "json"]
    read = json.loads(succeeded([*command, "-p", sizes.prefill, "-n", "0"]).out)
    decode = ["-p", "0", "-n", sizes.tokens, "-d", sizes.depth]
    written = json.loads(succeeded([*command, *decode]).out)
    return {
        **{f"prefill {one['n_prompt']}": one["avg_ts"] for one in read},
        **{f"decode at {one['n_depth']}": one["avg_ts"] for one in written},
    }


def compare(path: str, model: str, sizes: Sizes, runs: int) -> None:
    """Print a line a measure."""
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for number in range(runs):
        one = ours(model, sizes) if number % 2 == 0 else None
        other = theirs(path, model, sizes)
        one = one or ours(model, sizes)
        for measure in one:
            found[measure][0].append(one[measure])
            found[measure][1].append(other[measure])
    for measure, (mine, peers) in found.items():
        ratio, (low, high) = pairwise(mine, peers), interval(mine, peers)
        met = "met" if abs(ratio - 1) <= BAR else "MISSED"
        print(
            f"{measure}: nextok bench {spread(mine)}, llama-bench {spread(peers)} tokens/s, "
            f"ratio {ratio:.3f} (95 %: {low:.3f} to {high:.3f})  bar 1 ± {BAR:g}: {met}",
            flush=True,
        )


def spread(values: Sequence[float]) -> str:
    """The median, and the slowest to the fastest."""
    return f"{median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--model", default="starter")
    parser.add_argument("--prefill", default="128,512,2048")
    parser.add_argument("--depth", default="0,2048")
    parser.add_argument("--tokens", default="64")
    parser.add_argument("--own-engine", action="store_true")
    asked = parser.parse_args()
    if not asked.own_engine:
        # Of its libraries these come first; the loader of macOS has another name for it.
        folder = os.fspath(library_path().parent)
        ENVIRONMENT.update({"LD_LIBRARY_PATH": folder, "DYLD_LIBRARY_PATH": folder})
    sizes = Sizes(prefill=asked.prefill, depth=asked.depth, tokens=asked.tokens)
    for title, path in models.chosen(asked.model):
        print(title)
        compare(asked.llama_bench, str(path), sizes, asked.runs)


if __name__ == "__main__":
    main()
