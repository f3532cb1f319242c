"""Which messages go when a context is full.

Promises that the system message and the current one stay, that what stays begins with the user,
and that much goes at once: with room for some turns, each of them only appends to what the cache
holds. Refuses to know templates and tokens: it is told how many a list of messages would have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from nextok.generation.errors import ContextError
from nextok.generation.message import Message

SLACK = 0.15
"""The share of a context that is free, beside the reserve, after messages have gone."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What stays: a leading system message, and `messages[first:]`."""

    first: int
    dropped_messages: int
    dropped_tokens: int
    tokens: int
    """Of the prompt that is left."""


def fit(
    messages: Sequence[Message],
    *,
    count: Callable[[Sequence[Message]], int],
    context_size: int,
    reserve: int,
    target: float = 0.6,
) -> Fit:
    """Drop the oldest turns of a prompt that leaves less than `reserve` tokens for the answer.

    count: the tokens of the rendered prompt; asked once if all fits, else a few times more.
    target: at most this share of the context is taken afterwards, if that can be had.
    ContextError when the current message alone fills the context.
    """
    lead = 1 if messages and messages[0].role == "system" else 0

    @cache
    def size(first: int) -> int:
        return count([*messages[:lead], *messages[first:]])

    whole, first = size(lead), lead
    if whole + max(reserve, 1) > context_size:
        goal = min(target * context_size, context_size - reserve - SLACK * context_size)
        first = _earliest(_turns(messages, lead + 1), lambda turn: size(turn) <= goal, lead)
    if size(first) >= context_size:
        raise ContextError(
            f"without any older message the prompt has {size(first)} tokens and the context "
            f"holds {context_size}, answer included: shorten it or raise --ctx-size"
        )
    return Fit(
        first=first,
        dropped_messages=first - lead,
        dropped_tokens=whole - size(first),
        tokens=size(first),
    )


def reserve_for(max_tokens: int, context_size: int) -> int:
    """Tokens to keep free for an answer of at most `max_tokens`; -1: as long as it likes."""
    if max_tokens < 0:
        return context_size // 4
    return min(max_tokens, context_size // 2)


def _turns(messages: Sequence[Message], start: int) -> list[int]:
    """Where the user speaks, from `start` on."""
    return [index for index in range(start, len(messages)) if messages[index].role == "user"]


def _earliest(turns: Sequence[int], is_enough: Callable[[int], bool], otherwise: int) -> int:
    """The first turn that is enough to begin with, or the last; `otherwise` if there is none.

    By bisection: a prompt that begins later is never longer.
    """
    if not turns:
        return otherwise
    return turns[bisect_left(turns, True, 0, len(turns) - 1, key=is_enough)]
