"""Many prompts together: against the engine's own batch benchmark, and against one at a time.

- Distinct prompts: 64 of 64 tokens each, 64 tokens each to say, 16 at once. (Read + said tokens) /
  wall, against the `S t/s` of `llama-batched-bench` at the same lengths, sequences and settings,
  which reads and decodes with no text, no sampling and nobody replaced. The wall is that of the
  whole process minus that of the same command on one line with nothing to say: the load.
- A shared beginning: some 1,000 tokens, then a question each. The whole process against one
  process a prompt, without the prompt cache.

Runs alternate, all with `-t 1`; a ratio is that of two neighbours.

    python benchmarks/batch.py --peer PATH/llama-batched-bench [--runs 3] [--prompts 64]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import models
from processes import HERE, NEXTOK, in_turn, pairwise, succeeded, verdict

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import LoadOptions
from nextok.generation.abort import Abort

SPEED_BAR, SHARED_BAR = 0.95, 0.3
SETTINGS = ("-t", "1", "-fa", "on", "-b", "2048", "-ub", "512")
TEXT = (HERE / "harbour.txt").read_text()
QUESTIONS = (
    "Who says the first word?",
    "What is the weather like?",
    "Which trade is named first?",
    "Is anybody sad?",
    "What is bought?",
    "Who goes home last?",
    "What does the harbour smell of?",
    "Which day is it?",
)


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Of the distinct prompts. Tokens."""

    prompts: int
    read: int
    said: int
    parallel: int


def distinct(model: Path, lengths: Lengths) -> Iterator[str]:
    """Texts of so many tokens that begin differently."""
    weights = LlamaWeights.load(model, LoadOptions(vocabulary_only=True), Abort())
    tokenizer, words = weights.tokenizer, (TEXT * 3).split()
    for number in range(lengths.prompts):
        end = number * 5 + 1
        text = f"{number} {words[end]}"
        while len(tokenizer.encode(text)) < lengths.read:
            end += 1
            text += f" {words[end]}"
        kept = b"".join(map(tokenizer.piece, tokenizer.encode(text)[: lengths.read]))
        yield kept.decode(errors="ignore")
    weights.close()


def written(path: Path, prompts: Sequence[str]) -> Path:
    """A file of lines."""
    path.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))
    return path


def ours(model: Path, prompts: Path, *options: str) -> list[str]:
    """The command; nothing it keeps would make a later run faster."""
    return [NEXTOK, "batch", str(prompts), "-m", str(model), "--raw", "--temp", "0", "--private",
            "-q", *SETTINGS, *options]  # fmt: skip


def speeds(model: Path, peer: str, lengths: Lengths, runs: int, folder: Path) -> None:
    """Tokens a second, read and said together."""
    texts = list(distinct(model, lengths))
    prompts, one = written(folder / "all", texts), written(folder / "one", texts[:1])
    options = ("-np", str(lengths.parallel), "--ignore-eos")
    theirs = [peer, "-m", str(model), *SETTINGS, "-tb", "1", "-no-kvu",
              "-c", str(lengths.parallel * (-(-(lengths.read + lengths.said) // 256) * 256)),
              "-npp", str(lengths.read), "-ntg", str(lengths.said),
              "-npl", str(lengths.parallel), "--output-format", "jsonl"]  # fmt: skip

    def batch() -> float:
        load = succeeded(ours(model, one, *options, "-n", "0")).wall
        ran = succeeded(ours(model, prompts, *options, "-n", str(lengths.said)))
        results = [json.loads(line) for line in ran.out.splitlines()]
        tokens = sum(one["prompt_tokens"] + one["completion_tokens"] for one in results)
        return tokens / (ran.wall - load)

    def bench() -> float:
        lines = succeeded(theirs).out.splitlines()
        return float(json.loads(next(line for line in lines if line.startswith("{")))["speed"])

    nextok, engine = in_turn(runs, batch, bench)
    ratio = pairwise(nextok, engine)
    print(
        f"{lengths.prompts} distinct prompts, {lengths.read} + {lengths.said} tokens, "
        f"{lengths.parallel} at once: {median(nextok):.1f} tokens/s, llama-batched-bench "
        f"{median(engine):.1f}, ratio {ratio:.3f}  {verdict(ratio, SPEED_BAR, at_least=True)}",
        flush=True,
    )


def shared(model: Path, runs: int, said: int, folder: Path) -> None:
    """Seconds of all."""
    beginning = (TEXT * 3)[:5100]
    texts = [f"{beginning}\n\n{question}" for question in QUESTIONS]
    prompts, length = written(folder / "shared", texts), ("--ignore-eos", "-n", str(said))
    alone = [NEXTOK, "generate", "-m", str(model), "--raw", "--temp", "0", "--private", "-q",
             "--no-cache", "--no-stdin", *SETTINGS, *length]  # fmt: skip

    def batch() -> float:
        return succeeded(ours(model, prompts, *length)).wall

    def one_by_one() -> float:
        return sum(succeeded([*alone, text]).wall for text in texts)

    together, apart = in_turn(runs, batch, one_by_one)
    ratio = pairwise(together, apart)
    print(
        f"{len(texts)} prompts that share a beginning, {said} tokens each: "
        f"{median(together):.1f} s, one process each {median(apart):.1f} s, "
        f"ratio {ratio:.3f}  {verdict(ratio, SHARED_BAR)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", required=True, help="the engine's llama-batched-bench")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--read", type=int, default=64)
    parser.add_argument("--said", type=int, default=64)
    parser.add_argument("--parallel", type=int, default=16)
    asked = parser.parse_args()
    lengths = Lengths(
        prompts=asked.prompts, read=asked.read, said=asked.said, parallel=asked.parallel
    )
    with tempfile.TemporaryDirectory() as name:
        speeds(models.starter(), asked.peer, lengths, asked.runs, Path(name))
        shared(models.starter(), asked.runs, 32, Path(name))


if __name__ == "__main__":
    main()
