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

_MOST_UNREAD = 4
"""Tokens at the end of an interrupted reply that were drawn and not read any more."""


class Sliding:
    """A Model over a Model. Prompts must fit into the real context; answers need not."""

    context_size = sys.maxsize

    def __init__(self, model: Model, *, keep: int) -> None:
        """keep: how many of the first tokens always stay, like those of a system message."""
        self._model = model
        self._keep = staying(keep, model.context_size)

    @property
    def batch_size(self) -> int:
        """The inner model's."""
        return self._model.batch_size

    def new_cache(self) -> Cache:
        """A sequence of the inner model."""
        return self._model.new_cache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Logits:
        """As the inner model does it; no room is made."""
        return self._model.prefill(tokens, cache)

    def decode(self, token: int, cache: Cache) -> Logits:
        """Append one token; if there is no room for it, make some first."""
        if len(cache.tokens) >= self._model.context_size:
            self._make_room(cache)
        return self._model.decode(token, cache)

    def extend(self, batch: Sequence[Chunk]) -> Sequence[Logits]:
        """As the inner model does it; no room is made."""
        return self._model.extend(batch)

    def _make_room(self, cache: Cache) -> None:
        """Forget the older half of all that may go."""
        keep, held = self._keep, cache.tokens
        discard = (len(held) - keep + 1) // 2
        kept = [*held[:keep], *held[keep + discard :]]
        if not cache.shift(keep, discard):
            self._read_again(kept, cache)

    def _read_again(self, tokens: Sequence[int], cache: Cache) -> None:
        """Where the memory cannot shift: one long step instead of an end."""
        done = cache.trim(shared_prefix(cache.tokens, tokens))
        while done < len(tokens):
            batch = tokens[done : done + self._model.batch_size]
            self._model.prefill(batch, cache)
            done += len(batch)


def staying(keep: int, context_size: int) -> int:
    """How many of the first tokens stay, if `keep` are asked for: at least the sinks.

    At most three quarters of the context: what was said last matters more.
    """
    return min(max(keep, SINKS), context_size * 3 // 4)


def slid(prompt: Sequence[int], cache: Cache, *, keep: int, context_size: int) -> list[int]:
    """A prompt that begins a reply which has outgrown the context, as if it had slid there.

    What the cache holds of its beginning and its end, if it still does and there is room for
    more; else the beginning, and as much of the end as a context that slides keeps at least.
    """
    keep = staying(keep, context_size)
    recent = (context_size - keep) // 2
    held = cache.tokens[keep:]
    if held and shared_prefix(cache.tokens, prompt) >= keep:
        for unread in range(_MOST_UNREAD + 1):
            end = len(prompt) - unread
            whole = keep + len(held) + unread
            if whole < context_size and list(prompt[end - len(held) : end]) == list(held):
                recent = len(held) + unread
                break
    return [*prompt[:keep], *prompt[len(prompt) - recent :]]


def slide_to(cache: Cache, prompt: Sequence[int], least: int = 32) -> int:
    """Shift what the cache holds of `prompt` to where the prompt has it; tokens saved.

    For a prompt whose oldest messages were dropped: behind the start that both share, the cache
    still has them, and further right what the prompt goes on with. Fewer than `least` tokens
    there are a coincidence. 0: there is nothing to save, or the memory cannot shift.
    """
    shared = shared_prefix(cache.tokens, prompt)
    lengths = _held_from(cache.tokens[shared:], prompt[shared:])
    distance = max(range(len(lengths)), key=lengths.__getitem__, default=0)
    if not lengths or lengths[distance] < least or not cache.shift(shared, distance):
        return 0
    return lengths[distance]


def _held_from(held: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """For each place in `held`, how many tokens from there on `wanted` begins with.

    The Z-algorithm (Gusfield, "Algorithms on Strings, Trees and Sequences", 1997, section 1.3):
    linear, also where a text repeats itself.
    """
    tokens = [*wanted, -1, *held]  # -1 is no token, so that no length exceeds `wanted`
    lengths = [0] * len(tokens)
    left = right = 0  # the match that reaches furthest: what is in it was seen at the start
    for place in range(1, len(tokens)):
        length = min(lengths[place - left], right - place) if place < right else 0
        while place + length < len(tokens) and tokens[length] == tokens[place + length]:
            length += 1
        lengths[place] = length
        if place + length > right:
            left, right = place, place + length
    return lengths[len(wanted) + 1 :]
