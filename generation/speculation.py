"""The loop that may yield more than one token a step: guess ahead, verify all guesses in one pass.

Promises the steps of the plain loop: every token is drawn by the job's own sampler from its own
row of logits, so greedy output is the same and sampled output comes from the same distribution
(Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023). Knows
nothing of where guesses come from, nor of how many are worth it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from nextok.generation.draft_length import DraftLength
from nextok.generation.errors import EngineError
from nextok.generation.events import Prefill, Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, check_fits, prefill
from nextok.generation.model import Chunk, Logits, Sampler

MOST_DRAFTS = 62
"""From 64 rows in a pass on engines compute with other kernels, and rows come out different."""


class Drafter(Protocol):
    """Guesses what comes next. A wrong guess costs time and nothing else."""

    def reset(self, prompt: Sequence[int]) -> None:
        """Another text begins, with these tokens. May read them; raises Aborted."""

    def propose(self, history: Sequence[int], limit: int) -> Sequence[int]:
        """Up to `limit` tokens that may follow; none when there is nothing to go by.

        history: the prompt and all that was said since. Until the next `reset` it only grows, so
        that no token has to be looked at twice. Raises Aborted.
        """


def unlimited() -> int:
    """As many drafts as the model's context can hold."""
    return sys.maxsize


def speculative_steps(
    job: Job, drafter: Drafter, length: DraftLength, *, room: Callable[[], int] = unlimited
) -> Steps:
    """One token a step, or several. It leaves the cache as plain_steps would, and raises like it.

    length: decides how many guesses to verify; made for this job. room: how many of them the cache
    can take before it has to forget something.
    """
    check_fits(job)
    if job.max_tokens == 0:
        return FinishReason.LENGTH
    # 1. Prefill: as in the plain loop; the drafter reads along.
    rows: Sequence[Logits] = [(yield from _prefill(job, drafter))]
    history, draft, forgotten = [*job.prompt], list[int](), 0
    last = began = job.clock()
    try:
        while True:
            # 2. Sample: from row after row, as long as what is drawn was drafted.
            drawn, is_over = sample_rows(job.sampler, job.is_end, rows, draft)
            now = job.clock()
            length.learn(drawn, now - began)

            # 3. Trim: the drafts that were not drawn leave the cache.
            forgotten = _trim(job, history, draft, drawn[:-1], length)

            # 4. Stop? The model, the user or the context may say so, at each token.
            yield from _yielded(history, drawn, is_over, now, now - last)
            if (reason := _ended(job, len(history), is_over)) is not None:
                return reason

            # 5. Propose: guess what comes next, as far as it pays.
            limit = length.limit(min(room(), _room(job, history)))
            guess = proposal(drafter, history, limit, job.is_end, len(rows[0]), job.clock)
            draft = length.choose(*guess)

            # 6. Verify: the last token and the drafts in one pass; it makes a row for each.
            last, began = now, job.clock()
            rows = _verify(job, history[-1], draft)
    finally:
        job.cache.trim(len(history) - forgotten)


def _prefill(job: Job, drafter: Drafter) -> Generator[Prefill, None, Logits]:
    reading = prefill(job)
    yield next(reading)
    drafter.reset(job.prompt)
    return (yield from reading)


def sample_rows(
    sampler: Sampler, is_end: Callable[[int], bool], rows: Sequence[Logits], draft: Sequence[int]
) -> tuple[list[int], bool]:
    """What is drawn, all but the last of it drafted; and whether the last is an end token."""
    drawn: list[int] = []
    for logits, drafted in zip(rows, [*draft, None], strict=True):
        try:
            drawn.append(sampler.sample(logits))
        except EngineError:
            if not drawn:
                raise
            break  # what was drawn is told first: the next pass comes to the same row
        if is_end(drawn[-1]):
            return drawn, True
        if drawn[-1] != drafted:
            break
    return drawn, False


def _trim(
    job: Job, history: list[int], draft: list[int], accepted: list[int], length: DraftLength
) -> int:
    """Leave only the accepted drafts; how many of the first tokens the cache has forgotten.

    A memory that cannot be cut there is read again, once: nothing is guessed from then on.
    """
    forgotten = len(history) + len(draft) - len(job.cache.tokens)
    wanted = len(history) + len(accepted) - forgotten
    held = job.cache.trim(wanted)
    if held < wanted:
        length.give_up()
        _read([*history, *accepted][forgotten + held :], job)
    return forgotten


def _read(tokens: Sequence[int], job: Job) -> None:
    for start in range(0, len(tokens), job.model.batch_size):
        job.model.prefill(tokens[start : start + job.model.batch_size], job.cache)


def _yielded(
    history: list[int], drawn: Sequence[int], is_over: bool, now: float, seconds: float
) -> Generator[Step, None, None]:
    """The tokens of a step that took so long. They join the history when they were taken."""
    count = len(drawn) - is_over
    for index, token in enumerate(drawn[:count]):
        yield Step(token, now, seconds / count, drafted=index < len(drawn) - 1)
        history.append(token)


def _ended(job: Job, tokens: int, is_over: bool) -> FinishReason | None:
    """The reason to stop with so many tokens in all, as the plain loop finds it."""
    if is_over:
        return FinishReason.EOS
    if tokens - len(job.prompt) == job.max_tokens:
        return FinishReason.LENGTH
    return FinishReason.CONTEXT if tokens >= job.model.context_size else None


def _room(job: Job, history: Sequence[int]) -> int:
    """How many drafts may be verified: if all come true there is one token more."""
    most = job.model.context_size
    if job.max_tokens >= 0:
        most = min(most, len(job.prompt) + job.max_tokens)
    return min(most - len(history) - 1, job.model.batch_size - 1, MOST_DRAFTS)


def proposal(
    drafter: Drafter,
    history: Sequence[int],
    limit: int,
    is_end: Callable[[int], bool],
    vocabulary: int,
    clock: Callable[[], float],
) -> tuple[list[int], float]:
    """Guesses up to the first that nothing could follow; and the seconds it took to make them."""
    if limit < 1:
        return [], 0.0
    began = clock()
    guess = list(drafter.propose(history, limit))[:limit]
    seconds = clock() - began
    for index, token in enumerate(guess):
        if not 0 <= token < vocabulary or is_end(token):
            return guess[:index], seconds
    return guess, seconds


def _verify(job: Job, token: int, draft: Sequence[int]) -> Sequence[Logits]:
    if not draft:
        return [job.model.decode(token, job.cache)]
    return job.model.extend([Chunk(job.cache, [token, *draft], rows=1 + len(draft))])
