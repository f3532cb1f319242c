"""The loop every language model is run by: prefill, sample, stop?, decode, again.

Promises steps: token ids with their times, and the reason there are no more. Knows nothing of
text, of stop strings, or of who reads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from nextok.generation.errors import ContextError
from nextok.generation.events import Prefill, Step
from nextok.generation.finish import FinishReason
from nextok.generation.model import Cache, Logits, Model, Sampler

Steps = Generator[Prefill | Step, None, FinishReason]


class Job(NamedTuple):
    """All that one generation needs."""

    model: Model
    cache: Cache
    sampler: Sampler
    prompt: Sequence[int]
    is_end: Callable[[int], bool]
    clock: Callable[[], float]
    max_tokens: int = -1
    """-1: until the model stops or the context is full."""


def plain_steps(job: Job) -> Steps:
    """One token a step. Each costs one decode, however long the text already is.

    Raises ContextError before any work, Aborted and EngineError from the model.
    """
    check_fits(job)
    if job.max_tokens == 0:
        return FinishReason.LENGTH

    # 1. Prefill: the whole prompt in one pass, minus what the cache already holds.
    logits = yield from prefill(job)
    produced, last = 0, job.clock()
    while True:
        # 2. Sample: draw the next token from the logits.
        token = job.sampler.sample(logits)
        now = job.clock()

        # 3. Stop? The model, the user or the context may say so.
        if job.is_end(token):
            return FinishReason.EOS
        yield Step(token, now, now - last)
        produced, last = produced + 1, now
        if produced == job.max_tokens:
            return FinishReason.LENGTH
        if len(job.prompt) + produced >= job.model.context_size:
            return FinishReason.CONTEXT

        # 4. Decode: append that one token; the cache remembers all before it.
        logits = job.model.decode(token, job.cache)


def prefill(job: Job) -> Generator[Prefill, None, Logits]:
    """Read what the cache does not hold, a batch at a time; the logits after the last token."""
    total = len(job.prompt)
    # The last token is decoded again even when all are cached: only a pass makes logits.
    cached = done = job.cache.trim(min(shared_prefix(job.cache.tokens, job.prompt), total - 1))
    while True:
        yield Prefill(done, total, cached)
        batch = job.prompt[done : done + job.model.batch_size]
        logits = job.model.prefill(batch, job.cache)
        done += len(batch)
        if done == total:
            break
    yield Prefill(done, total, cached)
    return logits


def shared_prefix(held: Sequence[int], wanted: Sequence[int]) -> int:
    """How many tokens the two have in common from the start."""
    for index, (have, want) in enumerate(zip(held, wanted, strict=False)):
        if have != want:
            return index
    return min(len(held), len(wanted))


def check_fits(job: Job) -> None:
    """Refuse a prompt that leaves no room for an answer."""
    if not job.prompt:
        raise ContextError("the prompt has no tokens: give it some text")
    if len(job.prompt) >= job.model.context_size:
        raise ContextError(
            f"the prompt has {len(job.prompt)} tokens and the context holds "
            f"{job.model.context_size}, answer included: shorten it or raise --ctx-size"
        )
