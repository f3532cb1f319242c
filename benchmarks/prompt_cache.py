"""What the prompt cache saves, and what it costs the run that fills it.

In every round the cache is emptied, and then one document is asked four questions:

- the first run leaves hashes, and shows what looking for nothing costs before the prompt is read;
- the second keeps what it has read of the document, against the same run without the cache;
- the third takes it up, against the same run without the cache: time to the first token (from the
  loaded model), and the whole process. Both must say the same.

    python benchmarks/prompt_cache.py [--runs 3] [--tokens 3000] [--model starter|F16|Q4_0|Q8_0]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import models
from processes import NEXTOK, pairwise, succeeded, verdict

LINE_TOKENS = 13.5
"""Of a numbered sentence, in the starter's vocabulary."""
QUESTIONS = tuple(
    f"Now that you have read all of it: what would you say it is {what}, in one short sentence?"
    for what in ("about", "missing", "worth")
)
"""Of some twenty tokens."""
FIRST_BAR, WHOLE_BAR, KEEPING_BAR, LOOKING_BAR = 0.08, 0.25, 1.05, 0.01


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One process. Times in seconds."""

    text: str
    cached: int
    prompt: int
    queue: float
    first: float
    wall: float
    cpu: float
    """Less of it is other processes' than of the wall clock."""


class Asking:
    """A document and a model."""

    def __init__(self, document: Path, model: Path) -> None:
        options = ["-t", "1", "--temp", "0", "-n", "16", "--ignore-eos", "--json", "-q"]
        self._command = [NEXTOK, "-m", str(model), *options, "-f", str(document)]

    def ask(self, question: str, *flags: str) -> Answer:
        ran = succeeded([*self._command, *flags, question])
        said = json.loads(ran.out)
        return Answer(
            text=said["text"],
            cached=said["cached_tokens"],
            prompt=said["prompt_tokens"],
            queue=said["timings"]["queue_s"],
            first=said["timings"]["ttft_s"],
            wall=ran.wall,
            cpu=ran.cpu,
        )


def document(tokens: int, folder: Path) -> Path:
    """Of about so many tokens."""
    path, lines = folder / "document.txt", round(tokens / LINE_TOKENS)
    sentence = "{}: the brown fox jumps over the lazy dog.\n"
    path.write_text("".join(map(sentence.format, range(lines))))
    return path


def a_round(asking: Asking) -> tuple[Answer, Answer, Answer, Answer, Answer]:
    """Found nothing, kept, without the cache, taken up, without the cache."""
    succeeded([NEXTOK, "cache", "clear"])
    nothing = asking.ask(QUESTIONS[0])
    kept, plain = asking.ask(QUESTIONS[1]), asking.ask(QUESTIONS[1], "--no-cache")
    taken, fresh = asking.ask(QUESTIONS[2]), asking.ask(QUESTIONS[2], "--no-cache")
    if (kept.text, taken.text) != (plain.text, fresh.text):
        raise SystemExit(f"it does not say the same with and without: {taken} {fresh}")
    if nothing.cached or kept.cached or not taken.cached:
        raise SystemExit(f"the wrong run was served from the cache: {nothing} {kept} {taken}")
    return nothing, kept, plain, taken, fresh


def report(rounds: Sequence[tuple[Answer, Answer, Answer, Answer, Answer]]) -> None:
    nothing, kept, plain, taken, fresh = zip(*rounds, strict=True)
    print(f"{taken[0].prompt:,} tokens, {taken[0].cached:,} of them from the cache")
    looking = median(a.queue - b.queue for a, b in zip(nothing, fresh, strict=True))
    print(f"looking for nothing: {looking * 1000:.1f} ms  {verdict(looking, LOOKING_BAR)}")
    for name, ours, theirs, bar in (
        ("first token", [a.first for a in taken], [a.first for a in fresh], FIRST_BAR),
        ("whole process", [a.wall for a in taken], [a.wall for a in fresh], WHOLE_BAR),
        ("first token of the run that keeps", [a.first for a in kept], [a.first for a in plain],
         KEEPING_BAR),
        ("whole run that keeps", [a.wall for a in kept], [a.wall for a in plain], KEEPING_BAR),
        ("CPU time of the run that keeps", [a.cpu for a in kept], [a.cpu for a in plain],
         KEEPING_BAR),
    ):  # fmt: skip
        ratio = pairwise(ours, theirs)
        print(
            f"{name}: {median(ours):.2f} s, without the cache {median(theirs):.2f} s, "
            f"ratio {ratio:.3f}  {verdict(ratio, bar)}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--model", choices=("starter", *models.FILE_TYPES), default="starter")
    options = parser.parse_args(arguments)
    named = options.model
    model = models.starter() if named == "starter" else models.requantised(named)
    with tempfile.TemporaryDirectory() as folder:
        asking = Asking(document(options.tokens, Path(folder)), model)
        report([a_round(asking) for _ in range(options.runs)])


if __name__ == "__main__":
    main()
