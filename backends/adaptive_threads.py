"""A context that takes as many threads as serve it best at the moment.

Promises the same passes as the context in it. What changes is how many threads compute them, and
with that their time, and those last bits that depend on how a sum is cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from nextok.backends.weights import Context
from nextok.generation.events import Event, Threads, Token
from nextok.generation.model import Cache, Chunk, Logits, Model
from nextok.generation.thread_policy import ThreadPolicy


class AdaptiveThreads:
    """A Model over a Context."""

    def __init__(
        self,
        context: Context,
        policy: ThreadPolicy,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """context: opened with as many threads as the policy has at most."""
        self._context = context
        self._policy = policy
        self._clock = clock
        self._threads = policy.most

    @property
    def threads(self) -> int:
        """What the next pass takes."""
        return self._threads

    @property
    def context_size(self) -> int:
        """The context's."""
        return self._context.context_size

    @property
    def batch_size(self) -> int:
        """The context's."""
        return self._context.batch_size

    def new_cache(self) -> Cache:
        """A sequence of the context."""
        return self._context.new_cache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Logits:
        """As the context does it."""
        began = self._clock()
        logits = self._context.prefill(tokens, cache)
        self._passed(len(tokens), self._clock() - began)
        return logits

    def decode(self, token: int, cache: Cache) -> Logits:
        """As the context does it."""
        began = self._clock()
        logits = self._context.decode(token, cache)
        self._passed(1, self._clock() - began)
        return logits

    def extend(self, batch: Sequence[Chunk]) -> Sequence[Logits]:
        """As the context does it."""
        began = self._clock()
        rows = self._context.extend(batch)
        self._passed(sum(len(chunk.tokens) for chunk in batch), self._clock() - began)
        return rows

    def followed(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """The events of a generation by this model, and one more wherever the count changes.

        It begins with as many threads as now have a CPU. Until the first such event they are as
        many as the context was opened with.
        """
        self._policy.begin()
        self._set(self._policy.threads)
        told, tokens = self._policy.most, 0
        with closing(events):
            for event in events:
                yield event
                if isinstance(event, Token):
                    tokens = event.index + 1
                if told != self._threads:
                    told = self._threads
                    yield Threads(tokens, told)

    def frozen(self) -> Model:
        """The context, with as many threads as it was opened with."""
        self._set(self._policy.most)
        return self._context

    def _passed(self, rows: int, seconds: float) -> None:
        self._policy.passed(rows, seconds)
        self._set(self._policy.threads)

    def _set(self, threads: int) -> None:
        if threads != self._threads:
            self._context.set_threads(threads)
            self._threads = threads
