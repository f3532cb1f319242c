"""Decode tokens/s with guesses against one token a step, and what the machine allows.

- The bound: what a pass over k rows takes, in passes over one. A guess costs a row.
- Copying: 400 words written again with one of them changed, by the starter in F16, `--lookup`.
  Against the same run without it, and against what its accepted lengths would give if nothing
  were ever guessed wrongly and guessing took no time: tokens / sum of the passes' times.
- Writing freely: `--lookup` where there is little to look up, on every model; and F16 with its own
  Q4_0 as `--draft`. Neither may cost anything.

Runs alternate, all with `-t 1`; a ratio is that of two neighbours.

    python benchmarks/speculation.py [--runs 5] [--tokens 200] [--copying]
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import models
from processes import HERE, NEXTOK, in_turn, pairwise, succeeded, verdict

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort
from nextok.generation.model import Chunk

GAIN_BAR, ALLOWED_BAR, FREE_BAR = 1.75, 0.85, 0.97
TEXT = (HERE / "harbour.txt").read_text()
COPY = f'Write this text again, word for word. Only write "brewery" instead of "bakery".\n\n{TEXT}'
FREELY = (
    "Tell me a story about a clockmaker who is afraid of birds.",
    "What should a small town do with an empty railway station?",
    "Write a letter to a friend who has moved to the desert.",
)
ROWS = (1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 63)
DEPTH = 600
"""Tokens in the cache while passes are timed: about as many as in the middle of the copy."""


def pass_times(model: Path, rounds: int) -> dict[int, float]:
    """Seconds of a pass by its rows: the medians of rounds that take each in turn.

    Each is taken twice and timed the second time: the engine plans anew when the rows of a pass are
    more or fewer than those of the last one, which plain steps never are.
    """
    weights = LlamaWeights.load(model, LoadOptions(), Abort())
    context = weights.open(ContextOptions(context_size=1024, threads=1), Abort())
    tokens = weights.tokenizer.encode(TEXT * 2)[: DEPTH + ROWS[-1]]
    cache = context.new_cache()
    for start in range(0, DEPTH, context.batch_size):
        context.prefill(tokens[start : min(DEPTH, start + context.batch_size)], cache)
    times: dict[int, list[float]] = {rows: [] for rows in ROWS}
    for rows in ROWS * (rounds + 1):
        for _ in range(2):
            began = time.perf_counter()
            context.extend([Chunk(cache, tokens[DEPTH : DEPTH + rows], rows=rows)])
            seconds = time.perf_counter() - began
            cache.trim(DEPTH)
        times[rows].append(seconds)
    context.close()
    weights.close()
    return {rows: median(taken[1:]) for rows, taken in times.items()}


def taken(times: dict[int, float], rows: int) -> float:
    """Between the measured counts the straight line."""
    above = next(count for count in ROWS if count >= rows)
    if above == rows:
        return times[rows]
    below = max(count for count in ROWS if count < rows)
    share = (rows - below) / (above - below)
    return times[below] + share * (times[above] - times[below])


@dataclass(frozen=True)
class Run:
    """One generation."""

    speed: float
    """Tokens a second."""
    steps: Sequence[int]
    """The tokens of each step, but for the first token, which the prompt's row gave."""
    guesses: str
    text: str


def run(trace: Path, model: Path, prompt: str, *options: str) -> Run:
    """Run nextok and read its trace."""
    command = [NEXTOK, "generate", "-m", str(model), "-t", "1", "--no-stdin", "--no-cache"]
    succeeded([*command, "--trace", str(trace), *options, prompt])
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    tokens = [line for line in lines if line["type"] == "token"][1:]
    groups = itertools.groupby(tokens, key=lambda token: float(token["t_ms"]))
    made = lines[-1].get("speculation")
    return Run(
        speed=lines[-1]["timings"]["decode_tps"],
        steps=[len(list(group)) for _, group in groups],
        guesses=f"{made['accepted']} of {made['drafted']} guesses" if made else "",
        text=lines[-1]["text"],
    )


def copying(runs: int, folder: Path) -> None:
    """F16, greedy: a run can be repeated, so the text alone decides how far is guessed."""
    model = models.requantised("F16")
    times = pass_times(model, runs)
    show(model, times)
    plain: list[Run] = []
    guessed: list[Run] = []

    def once(into: list[Run], *options: str) -> float:
        into.append(run(folder / "trace", model, COPY, "--temp", "0", "-n", "600", *options))
        return into[-1].speed

    ours, theirs = in_turn(runs, lambda: once(guessed, "--lookup"), lambda: once(plain))
    gain = pairwise(ours, theirs)
    steps = guessed[0].steps
    allowed = sum(steps) * times[1] / sum(taken(times, tokens) for tokens in steps)
    same = "the same text" if guessed[0].text == plain[0].text else "parted at a near-tie"
    print(
        f"copying, --lookup: {median(ours):.1f} tokens/s, plain {median(theirs):.1f}, "
        f"{guessed[0].guesses}, {same}\n"
        f"  gain {gain:.2f}  {verdict(gain, GAIN_BAR, at_least=True)}\n"
        f"  allowed {allowed:.2f}, reached {gain / allowed:.2f} of it  "
        f"{verdict(gain / allowed, ALLOWED_BAR, at_least=True)}",
        flush=True,
    )


def freely(name: str, model: Path, runs: int, tokens: int, folder: Path, *guess: str) -> None:
    """Sampled, without a seed: times decide. Each run has the next prompt, a pair the same."""
    prompts = {option: itertools.cycle(FREELY) for option in (True, False)}
    made: list[str] = []

    def once(*options: str) -> float:
        prompt = next(prompts[bool(options)])
        length = ("-n", str(tokens), "--ignore-eos")
        ran = run(folder / "trace", model, prompt, *length, *options)
        made.append(ran.guesses)
        return ran.speed

    ours, theirs = in_turn(max(runs, len(FREELY)), lambda: once(*guess), once)
    ratio = pairwise(ours, theirs)
    print(
        f"writing freely, {name}: {median(ours):.1f} tokens/s, plain {median(theirs):.1f}, "
        f"ratio {ratio:.3f}  {verdict(ratio, FREE_BAR, at_least=True)}  "
        f"({', '.join(filter(None, made))})",
        flush=True,
    )


def show(model: Path, times: dict[int, float]) -> None:
    """The machine's bound."""
    table = ", ".join(f"{rows}: {times[rows] / times[1]:.2f}" for rows in ROWS)
    bound = max(rows * times[1] / times[rows] for rows in ROWS)
    print(f"{model.stem}: a pass over one row takes {times[1] * 1000:.1f} ms, over more {table}")
    print(f"  at best {bound:.2f} × if every guess came true", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--copying", action="store_true", help="nothing else")
    asked = parser.parse_args()
    f16 = models.requantised("F16")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copying(asked.runs, folder)
        if asked.copying:
            return
        named = {"F16": f16, "starter": models.starter(), "gemma": models.gemma()}
        for title, model in named.items():
            freely(f"{title}, --lookup", model, asked.runs, asked.tokens, folder, "--lookup")
        small = str(models.requantised("Q4_0"))
        freely("F16, Q4_0 as --draft", f16, asked.runs, asked.tokens, folder, "--draft", small)


if __name__ == "__main__":
    main()
