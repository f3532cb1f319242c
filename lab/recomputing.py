"""The loop without a KV cache: every token costs reading the whole text again.

A mode of the lab alone, to be measured against `nextok.generation.loop.plain_steps`, whose steps
it yields: only what happens between two tokens differs.
"""

from __future__ import annotations

from collections.abc import Generator

from nextok.generation.events import Prefill, Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, check_fits, prefill


def recomputing_steps(job: Job) -> Generator[Prefill | Step, None, FinishReason]:
    """One token a step, as `plain_steps`. Raises ContextError, Aborted and EngineError."""
    check_fits(job)
    text, last = list(job.prompt), job.clock()
    while True:
        # 1. Forget everything, and read the whole text.
        job.cache.trim(0)
        logits = yield from prefill(job._replace(prompt=text))
        # 2. Sample.
        token = job.sampler.sample(logits)
        now = job.clock()
        # 3. Stop?
        if job.is_end(token):
            return FinishReason.EOS
        yield Step(token, now, now - last)
        text.append(token)
        last = now
        if len(text) - len(job.prompt) == job.max_tokens:
            return FinishReason.LENGTH
        if len(text) >= job.model.context_size:
            return FinishReason.CONTEXT
