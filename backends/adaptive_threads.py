"""A context that takes as many threads as serve it best at the moment.

Promises the same passes as the context in it; only how many threads compute them changes, and
with that their time, and bits that depend on how work is cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from nextok.backends.weights import Context
from nextok.generation.events import Event, Threads, Token
from nextok.generation.model import Cache, Chunk, Logits
from nextok.generation.thread_policy import ThreadPolicy


class AdaptiveThreads:
    """A Context over a Context."""

    def __init__(
        self,
        context: Context,
        policy: ThreadPolicy,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """context: one that was opened with the policy's threads."""
        self._context = context
        self._policy = policy
        self._clock = clock
        self._applied = policy.threads
        self._is_reading = False

    @property
    def threads(self) -> int:
        """What the next pass will take."""
        return self._applied

    @property
    def context_size(self) -> int:
        """The inner context's."""
        return self._context.context_size

    @property
    def batch_size(self) -> int:
        """The inner context's."""
        return self._context.batch_size

    def new_cache(self) -> Cache:
        """A sequence of the inner context."""
        return self._context.new_cache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Logits:
        """As the inner context does it."""
        if not self._is_reading:
            self._is_reading = True
            self._policy.begin()
            self.set_threads(self._policy.threads)
        began = self._clock()
        logits = self._context.prefill(tokens, cache)
        self._passed(len(tokens), self._clock() - began)
        return logits

    def decode(self, token: int, cache: Cache) -> Logits:
        """As the inner context does it."""
        self._is_reading = False
        began = self._clock()
        logits = self._context.decode(token, cache)
        self._passed(1, self._clock() - began)
        return logits

    def extend(self, batch: Sequence[Chunk]) -> Sequence[Logits]:
        """As the inner context does it."""
        began = self._clock()
        rows = self._context.extend(batch)
        self._passed(sum(len(chunk.tokens) for chunk in batch), self._clock() - began)
        return rows

    def set_threads(self, threads: int) -> None:
        """Take so many until the policy says otherwise."""
        if threads != self._applied:
            self._context.set_threads(threads)
            self._applied = threads

    def frozen(self) -> Context:
        """The inner context, with as many threads as it was opened with."""
        self.set_threads(self._policy.most)
        return self._context

    def told(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """The same events, and one more wherever the count has changed."""
        threads, tokens = self._applied, 0
        with closing(events):
            for event in events:
                yield event
                if isinstance(event, Token):
                    tokens = event.index + 1
                if threads != self._applied:
                    threads = self._applied
                    yield Threads(tokens, threads)

    def close(self) -> None:
        """Free the inner context."""
        self._context.close()

    def _passed(self, rows: int, seconds: float) -> None:
        self._policy.passed(rows, seconds)
        if self._policy.threads != self._applied:
            self.set_threads(self._policy.threads)
