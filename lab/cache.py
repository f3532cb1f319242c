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
from nextok.lab.cache_comparison import CacheComparison, Timed, first_difference
from nextok.lab.cache_words import cache_charts, cache_sentences
from nextok.lab.estimate import Work
from nextok.lab.findings import COMPLETE, Findings
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
    counted: str = ""
    """What the subject's clock counts, where that is not what a clock on the wall does."""


def work(prompt_tokens: int, options: CacheOptions) -> Work:
    """What it makes the model do."""
    count = options.tokens
    again = count * prompt_tokens + count * (count - 1) // 2
    return Work(
        prefill_tokens=prompt_tokens + again, decode_tokens=count,
        context_tokens=prompt_tokens + count,
    )  # fmt: skip


def run(subject: Subject, options: CacheOptions, progress: Progress) -> Findings:
    """Both generations. Raises ContextError, TemplateError and EngineError."""
    prompt = subject.prompt_tokens(options.prompt)
    with subject.open(len(prompt) + options.tokens) as model:
        study = _Study(subject, model, prompt, options, progress)
        cached = study.timed(plain_steps, "tokens with the cache")
        again = study.timed(recomputing_steps, "tokens without it")
        differs = first_difference(cached.tokens, again.tokens)
        margin = None if differs is None else study.margin(cached, again, differs)
    found = CacheComparison(
        cached=cached,
        again=again,
        wanted=options.tokens,
        prompt_tokens=len(prompt),
        patience_seconds=options.patience_seconds,
        margin=margin,
        settings=" · ".join(filter(None, [subject.settings, options.counted])),
    )
    return Findings(
        experiment="cache",
        title=f"Why the KV cache matters: {subject.settings}",
        model=subject.name,
        data={
            COMPLETE: found.whole,
            "exact": subject.exact,
            "prompt": options.prompt,
            "text": subject.text(cached.tokens),
            **found.as_data(),
        },
        sentences=cache_sentences(found),
        timed=True,
        charts=cache_charts(found),
    )


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
