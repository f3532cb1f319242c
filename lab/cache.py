"""Why the KV cache matters: one generation with it, and one that reads everything again each token.

Both are greedy, on the same engine, of the same length; only what happens between two tokens
differs. Measures, compares and fits; words and pictures are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from nextok.generation.abort import Aborted
from nextok.generation.events import Step
from nextok.generation.loop import Job, Steps, plain_steps
from nextok.generation.model import Model
from nextok.generation.sampling import Sampling
from nextok.lab.cache_words import cache_charts, cache_sentences
from nextok.lab.estimate import Work
from nextok.lab.findings import Findings
from nextok.lab.line_fit import Line, fit_line
from nextok.lab.progress import Progress
from nextok.lab.recomputing import recomputing_steps
from nextok.lab.subject import Subject

PROMPT = "Explain why the sea is salty, and what that means for those who live in it."


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """What is asked, and for how much."""

    prompt: str = PROMPT
    tokens: int = 160
    patience_seconds: float = 10.0
    """How long a reader waits."""


@dataclass(frozen=True, kw_only=True)
class Timed:
    """One of the two generations."""

    tokens: Sequence[int]
    seconds: Sequence[float]
    """Of each of them; of the first one with the reading of the prompt."""

    @property
    def indexes(self) -> range:
        """Of the tokens that have one before them."""
        return range(1, len(self.seconds))

    @property
    def line(self) -> Line | None:
        """The time of a token by its index, the first one left out."""
        return fit_line(list(self.indexes), self.seconds[1:])

    @property
    def totals(self) -> list[float]:
        """Seconds from the start until each token."""
        total, found = 0.0, []
        for one in self.seconds:
            total += one
            found.append(total)
        return found

    def read_in(self, seconds: float) -> float | None:
        """Tokens that have come by then: seen, or as the line says; None without one."""
        totals, line = self.totals, self.line
        if totals and totals[-1] >= seconds:
            return float(sum(total <= seconds for total in totals))
        return None if line is None else 1 + line.reaches(seconds, start=totals[0])

    @property
    def doubling(self) -> float | None:
        """How many times as long all tokens take as the first half, by the line: the prompt, and
        what else the machine did meanwhile, left out."""
        line, half = self.line, len(self.seconds) // 2
        if line is None or line.area(half) <= 0:
            return None
        return line.area(2 * half) / line.area(half)


def work(prompt_tokens: int, options: CacheOptions) -> Work:
    """What it makes the model do."""
    count = options.tokens
    again = count * prompt_tokens + count * (count - 1) // 2
    return Work(prefill_tokens=prompt_tokens + again, decode_tokens=count)


def run(subject: Subject, options: CacheOptions, progress: Progress) -> Findings:
    """Both generations. Raises ContextError, TemplateError and EngineError."""
    prompt = subject.prompt_tokens(options.prompt)
    with subject.open(len(prompt) + options.tokens) as model:
        study = _Study(subject, model, prompt, options, progress)
        cached = study.timed(plain_steps, "tokens with the cache")
        again = study.timed(recomputing_steps, "tokens without it")
        differs = first_difference(cached.tokens, again.tokens)
        margin = None if differs is None else study.margin(cached, again, differs)
    whole = min(len(cached.tokens), len(again.tokens)) == options.tokens
    data = {
        "complete": whole,
        "settings": subject.settings,
        "exact": subject.exact,
        "prompt": options.prompt,
        "prompt_tokens": len(prompt),
        "tokens": len(again.tokens),
        "patience_s": options.patience_seconds,
        "same_output": whole and differs is None,
        "first_difference": differs,
        "difference_margin_logits": margin,
        "text": subject.text(cached.tokens),
        "times": {
            name: _times(timed, options.patience_seconds)
            for name, timed in (("cache", cached), ("recomputing", again))
        },
    }
    return Findings(
        experiment="cache",
        title=f"Why the KV cache matters: {subject.settings}",
        model=subject.name,
        data=data,
        sentences=cache_sentences(cached, again, data),
        charts=cache_charts(cached, again, data),
    )


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Where two texts part, as far as both go."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), None)


def _times(timed: Timed, patience_seconds: float) -> dict[str, object]:
    line = timed.line
    return {
        "latency_ms": [round(1000 * one, 3) for one in timed.seconds],
        "total_s": round(sum(timed.seconds), 4),
        "fit_ms": None if line is None else round(1000 * line.intercept, 4),
        "fit_ms_per_token": None if line is None else round(1000 * line.slope, 6),
        "doubling": timed.doubling,
        "tokens_in_patience": timed.read_in(patience_seconds),
    }


class _Study:
    """One prompt and one model, run twice."""

    def __init__(
        self,
        subject: Subject,
        model: Model,
        prompt: Sequence[int],
        options: CacheOptions,
        progress: Progress,
    ) -> None:
        self._subject, self._model, self._prompt = subject, model, prompt
        self._count, self._progress = options.tokens, progress

    def timed(self, loop: Callable[[Job], Steps], what: str) -> Timed:
        """As many tokens as are wanted, or as come before the end is asked for."""
        subject, tokens, at = self._subject, list[int](), [self._subject.clock()]
        cache = self._model.new_cache()
        greedy = Sampling(seed=subject.sampling.seed, temperature=0.0, ignore_eos=True)
        try:
            with closing(subject.sampler(self._prompt, greedy)) as sampler:
                job = Job(
                    model=self._model, cache=cache, sampler=sampler, prompt=self._prompt,
                    is_end=lambda token: False, clock=subject.clock, max_tokens=self._count,
                )  # fmt: skip
                for event in loop(job):
                    if isinstance(event, Step):
                        tokens.append(event.id)
                        at.append(event.at)
                        self._progress.step(len(tokens), self._count, what)
        except Aborted:
            pass  # what is done counts
        finally:
            cache.close()
        seconds = [after - before for before, after in zip(at, at[1:], strict=False)]
        return Timed(tokens=tokens, seconds=seconds)

    def margin(self, one: Timed, other: Timed, index: int) -> float | None:
        """How far apart the logits are of the two tokens that both could not agree on."""
        cache = self._model.new_cache()
        try:
            text = [*self._prompt, *one.tokens[:index]]
            for start in range(0, len(text), self._model.batch_size):
                batch = text[start : start + self._model.batch_size]
                logits = self._model.prefill(batch, cache)
            return abs(logits[one.tokens[index]] - logits[other.tokens[index]])
        except Aborted:
            return None
        finally:
            cache.close()
