"""Lengths of fresh answers: each prompt is answered once, on the product's own loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from nextok.backends.weights import Context
from nextok.generation.events import Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps
from nextok.lab.estimate import Work
from nextok.lab.length_data import CUT, Answer
from nextok.lab.progress import Progress
from nextok.lab.subject import Subject

_SEEDS = 2**32 - 1
"""Seeds are below."""


def work(subject: Subject, prompts: Sequence[str], max_tokens: int) -> Work:
    """What the model will have to do, at most: answers may end before they have to."""
    read = [len(subject.prompt_tokens(prompt)) for prompt in prompts]
    return Work(
        prefill_tokens=sum(read),
        decode_tokens=len(read) * max_tokens,
        context_tokens=max(read) + max_tokens,
    )


def answers(
    subject: Subject, prompts: Sequence[str], max_tokens: int, progress: Progress
) -> Iterator[Answer]:
    """One of at most so many tokens for each prompt, as soon as it has ended.

    Raises ContextError, TemplateError, EngineError and Aborted.
    """
    read = [subject.prompt_tokens(prompt) for prompt in prompts]
    with subject.open(max(map(len, read)) + max_tokens) as model:
        for place, prompt in enumerate(read):
            progress.step(place, len(read), "answers")
            yield _answer(subject, model, prompt, place, max_tokens)


def _answer(
    subject: Subject, model: Context, prompt: Sequence[int], place: int, max_tokens: int
) -> Answer:
    sampling = subject.sampling
    mine = sampling._replace(seed=(sampling.seed + place) % _SEEDS)
    with closing(subject.sampler(prompt, mine)) as sampler, closing(model.new_cache()) as cache:
        job = Job(
            model=model, cache=cache, sampler=sampler, prompt=prompt,
            is_end=subject.tokenizer.is_end, clock=subject.clock, max_tokens=max_tokens,
        )  # fmt: skip
        tokens, ending = _walked(plain_steps(job))
    return Answer(tokens, ending in CUT, len(prompt))


def _walked(steps: Steps) -> tuple[int, FinishReason]:
    """To the end: how many tokens, and why there are no more."""
    tokens = 0
    while True:
        try:
            tokens += isinstance(next(steps), Step)
        except StopIteration as ended:
            return tokens, ended.value
