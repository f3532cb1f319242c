"""How long an experiment will take, from a short run of the model. Knows no experiment."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from nextok.generation.events import Step
from nextok.generation.loop import Job, plain_steps
from nextok.lab.subject import Subject

_PROMPT = "Say in a few sentences what you know about the sea, its tides and its winds."
_TOKENS = 8
"""Generated to see how fast that goes; the first of them is not counted."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What an experiment makes a model do."""

    prefill_tokens: int = 0
    decode_tokens: int = 0
    context_tokens: int = 0
    """Of its longest sequence."""

    def __add__(self, other: Work) -> Work:
        return Work(
            prefill_tokens=self.prefill_tokens + other.prefill_tokens,
            decode_tokens=self.decode_tokens + other.decode_tokens,
            context_tokens=max(self.context_tokens, other.context_tokens),
        )

    def times(self, count: int) -> Work:
        """The same so many times."""
        return Work(
            prefill_tokens=self.prefill_tokens * count,
            decode_tokens=self.decode_tokens * count,
            context_tokens=self.context_tokens,
        )


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How fast a model is on this machine, with short texts."""

    prefill_tokens_per_second: float
    decode_tokens_per_second: float

    def seconds(self, work: Work) -> float:
        """What the work will take, about."""
        return (
            work.prefill_tokens / self.prefill_tokens_per_second
            + work.decode_tokens / self.decode_tokens_per_second
        )


def measure(subject: Subject) -> Speed:
    """Read a short prompt twice and say a few tokens. Raises like a generation."""
    clock = subject.clock
    prompt = subject.prompt_tokens(_PROMPT)[: max(1, subject.context_limit - _TOKENS)]
    greedy = subject.sampling._replace(temperature=0.0)
    with subject.open(len(prompt) + _TOKENS) as model, closing(model.new_cache()) as cache:
        model.prefill(prompt, cache)  # the first time, weights may come from the disk
        cache.trim(0)
        with closing(subject.sampler(prompt, greedy)) as sampler:
            began = clock()
            job = Job(
                model=model, cache=cache, sampler=sampler, prompt=prompt,
                is_end=lambda token: False, clock=clock, max_tokens=_TOKENS,
            )  # fmt: skip
            at = [event.at for event in plain_steps(job) if isinstance(event, Step)]
    return Speed(
        prefill_tokens_per_second=len(prompt) / max(at[0] - began, 1e-9),
        decode_tokens_per_second=(len(at) - 1) / max(at[-1] - at[0], 1e-9),
    )
