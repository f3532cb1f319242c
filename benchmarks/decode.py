"""Decode tokens/s of `nextok generate` into a pipe, against the bare loop over the same engine.

Measured: the plain path (default sampling, two stop strings that never come, `-t 1`), by its own
`--stats`. Against: bare_decode.py, which only alternates `llama_sampler_sample` and
`llama_decode`; the first pair must say the same tokens. Both are (n-1) / (t_last - t_first), so
that neither load nor prefill counts. Runs alternate; a ratio is that of two neighbours.

    python benchmarks/decode.py [--runs 7] [--tokens 200] [--model starter|gemma|FILE]
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import models
from processes import BARE, NEXTOK, in_turn, pairwise, succeeded, verdict

BAR = 0.98
PROMPT = "Why is the sky blue?"
SEED = "7"


class Pair:
    """The same generation, by nextok and by the bare script."""

    def __init__(self, model: Path, tokens: int) -> None:
        chosen = ["-m", str(model), PROMPT]
        listed = json.loads(succeeded([NEXTOK, "tokens", "--json", "--chat", *chosen]).out)
        prompt = [str(token["id"]) for token in listed["tokens"]]
        # As much context as `-n` makes nextok ask for: a multiple of 256.
        context = -(-(len(prompt) + tokens) // 256) * 256
        self.ours = [NEXTOK, "generate", *chosen, "-t", "1", "--seed", SEED, "--ignore-eos"]
        self.ours += ["-n", str(tokens), "-r", "<never>", "-r", "\n\n\n\n\n\n"]
        self.ours += ["-fa", "on"]  # as the engine chooses for the bare script
        self.bare = [*BARE, str(model), str(context), str(tokens), SEED, *prompt]

    def check(self) -> None:
        """Both must have the same parameters, and so say the same."""
        lines = map(json.loads, succeeded([*self.ours, "--jsonl"]).out.splitlines())
        said = [line["id"] for line in lines if line["type"] == "token"]
        if said != json.loads(succeeded(self.bare).out)["ids"]:
            raise SystemExit("nextok and the bare script do not say the same tokens")

    def our_speed(self) -> float:
        """Tokens a second."""
        found = re.search(r"([\d.]+) tokens/s", succeeded([*self.ours, "--stats"]).err)
        assert found is not None
        return float(found[1])

    def bare_speed(self) -> float:
        """Tokens a second."""
        return float(json.loads(succeeded(self.bare).out)["tps"])


def measure(name: str, model: Path, runs: int, tokens: int) -> None:
    """Print one model's figures."""
    pair = Pair(model, tokens)
    pair.check()
    ours, bare = in_turn(runs, pair.our_speed, pair.bare_speed)
    ratio = pairwise(ours, bare)
    print(
        f"{name}: nextok {median(ours):.1f} ({spread(ours)}), bare {median(bare):.1f} "
        f"({spread(bare)}) tokens/s, ratio {ratio:.3f}  {verdict(ratio, BAR, at_least=True)}",
        flush=True,
    )


def spread(values: Sequence[float]) -> str:
    """Slowest to fastest: how quiet the machine was."""
    return f"{min(values):.1f} to {max(values):.1f}"


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
