"""A context that never fills up: the oldest tokens make room for new ones.

Promises that the loop runs on unchanged. What it costs is exactness: the tokens that stay were
read when those that went were still there, and remember them. Knows nothing of messages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nextok.generation.loop import shared_prefix
from nextok.generation.model import Cache, Chunk, Logits, Model

SINKS = 4
"""Attention leans on the very first tokens, whatever they say: Xiao et al., "Efficient Streaming
Language Models with Attention Sinks" (2023), section 3.1. So these always stay."""


class Sliding:
    """A Model over a Model. Prompts must fit into the real context; answers need not."""

    context_size = sys.maxsize

    def __init__(self, model: Model, *, keep: int) -> None:
        """keep: how many of the first tokens always stay, like those of a system message."""
        self._model = model
        self._keep = max(keep, SINKS)

    @property
    def batch_size(self) -> int:
        """The inner model's."""
        return self._model.batch_size

    def new_cache(self) -> Cache:
        """A sequence of the inner model."""
        return self._model.new_cache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Logits:
        """As the inner model does it."""
        return self._model.prefill(tokens, cache)

    def decode(self, token: int, cache: Cache) -> Logits:
        """Append one token; if there is no room for it, make some first."""
        if len(cache.tokens) >= self._model.context_size:
            self._make_room(cache)
        return self._model.decode(token, cache)

    def extend(self, batch: Sequence[Chunk]) -> Sequence[Logits]:
        """As the inner model does it."""
        return self._model.extend(batch)

    def _make_room(self, cache: Cache) -> None:
        """Forget the older half of all that may go."""
        keep = min(self._keep, len(cache.tokens) - 1)
        discard = (len(cache.tokens) - keep + 1) // 2
        kept = [*cache.tokens[:keep], *cache.tokens[keep + discard :]]
        if not cache.shift(keep, discard):
            self._read_again(kept, cache)

    def _read_again(self, tokens: Sequence[int], cache: Cache) -> None:
        """Where the memory cannot shift: one long step instead of an end."""
        done = cache.trim(shared_prefix(cache.tokens, tokens))
        while done < len(tokens):
            batch = tokens[done : done + self._model.batch_size]
            self._model.prefill(batch, cache)
            done += len(batch)


def slide_to(cache: Cache, prompt: Sequence[int], least: int = 32) -> int:
    """Shift what the cache holds of `prompt` to where the prompt has it; tokens saved.

    For a prompt whose oldest messages were dropped: behind the start that both share, the cache
    still has them, and further right what the prompt goes on with. Fewer than `least` tokens
    there are a coincidence. 0: there is nothing to save, or the memory cannot shift.
    """
    shared = shared_prefix(cache.tokens, prompt)
    start, length = _find(cache.tokens, prompt[shared:], after=shared, least=least)
    if length == 0 or not cache.shift(shared, start - shared):
        return 0
    return length


def _find(held: Sequence[int], wanted: Sequence[int], *, after: int, least: int) -> tuple[int, int]:
    """Where, behind `after`, the longest start of `wanted` is held, and how long it is."""
    head = list(wanted[:least])
    if len(head) < least:
        return after, 0
    places = (
        start
        for start in range(after + 1, len(held) - least + 1)
        if held[start] == head[0] and list(held[start : start + least]) == head
    )
    lengths = ((start, shared_prefix(held[start:], wanted)) for start in places)
    return max(lengths, key=lambda found: found[1], default=(after, 0))
