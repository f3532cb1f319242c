"""A model that stops once on its way through a prompt, where somebody wants to see the cache.

Promises the same passes as the model in it if the place is the end of one, and one more if not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nextok.generation.model import Cache, Chunk, Logits, Model


class Stopover:
    """A Model over a Model."""

    def __init__(self, model: Model, *, length: int, reached: Callable[[Cache], None]) -> None:
        """reached: called when a prefill has come to so many tokens in the cache, once."""
        self._model = model
        self._length = length
        self._reached = reached
        self._was_there = False

    @property
    def context_size(self) -> int:
        """The inner model's."""
        return self._model.context_size

    @property
    def batch_size(self) -> int:
        """The inner model's."""
        return self._model.batch_size

    def new_cache(self) -> Cache:
        """A sequence of the inner model."""
        return self._model.new_cache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Logits:
        """As the inner model does it, in two passes where the place is inside."""
        ahead = self._length - len(cache.tokens)
        if self._was_there or not 0 < ahead <= len(tokens):
            return self._model.prefill(tokens, cache)
        logits = self._model.prefill(tokens[:ahead], cache)
        self._was_there = True
        self._reached(cache)
        return self._model.prefill(tokens[ahead:], cache) if tokens[ahead:] else logits

    def decode(self, token: int, cache: Cache) -> Logits:
        """As the inner model does it."""
        return self._model.decode(token, cache)

    def extend(self, batch: Sequence[Chunk]) -> Sequence[Logits]:
        """As the inner model does it."""
        return self._model.extend(batch)
