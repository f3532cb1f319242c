"""Guesses by a smaller model of the same vocabulary, which always says what it holds most likely.

Promises to read each token once. A drafter that fails is silent; it never ends a generation.
"""

from __future__ import annotations

from collections.abc import Sequence

from nextok.generation.errors import EngineError
from nextok.generation.loop import shared_prefix
from nextok.generation.model import Cache, Logits, Model, Sampler


class ModelDrafter:
    """A Drafter with a model, a cache and a sampler of its own."""

    def __init__(self, model: Model, cache: Cache, sampler: Sampler) -> None:
        """cache: may hold a text from before; what the next one shares with it is kept."""
        self._model = model
        self._cache = cache
        self._sampler = sampler
        self._certain = 0
        """How many tokens in the cache are known to be the history's."""
        self._is_silent = False

    def reset(self, prompt: Sequence[int]) -> None:
        """Read the prompt, as far as the cache does not hold it."""
        self._certain, self._is_silent = 0, False
        self._guarded(prompt, 0)

    def propose(self, history: Sequence[int], limit: int) -> Sequence[int]:
        """Catch up with the history, and go on from there."""
        return self._guarded(history, limit)

    def _guarded(self, history: Sequence[int], limit: int) -> Sequence[int]:
        limit = min(limit, self._model.context_size - len(history))
        if self._is_silent or limit < 0:
            return []
        try:
            return self._continue(self._read(history), limit)
        except EngineError:
            self._is_silent = True
            return []

    def _read(self, history: Sequence[int]) -> Logits:
        """The logits after the whole history. Guesses that did not come true are forgotten."""
        held = self._cache.tokens
        shared = shared_prefix(held[self._certain :], history[self._certain :])
        # The last token is decoded again even when it is held: only a pass makes logits.
        done = self._cache.trim(min(self._certain + shared, len(history) - 1))
        self._certain = len(history) - 1
        while True:
            batch = history[done : done + self._model.batch_size]
            logits = self._model.prefill(batch, self._cache)
            done += len(batch)
            if done == len(history):
                return logits

    def _continue(self, logits: Logits, limit: int) -> list[int]:
        guess: list[int] = []
        while len(guess) < limit:
            guess.append(self._sampler.sample(logits))
            if len(guess) < limit:
                logits = self._model.decode(guess[-1], self._cache)
        return guess
