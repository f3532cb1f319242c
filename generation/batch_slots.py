"""The sequences of a batch: who is in which, what it holds, and how much room is taken.

Promises that a sequence is given to the next request with all in it that the two have in common,
and that what all requests begin with is read once. Knows nothing of passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nextok.generation.account import Account
from nextok.generation.loop import shared_prefix
from nextok.generation.model import Cache, Model
from nextok.generation.request import Request, Running


class Slots:
    """One sequence each, in the order the model made them: engines compute neighbours together."""

    def __init__(self, model: Model, *, parallel: int, shared: Sequence[int], root: bool) -> None:
        """shared: the beginning of many prompts, or nothing.

        root: whether one more sequence keeps it: where a memory cannot be cut back to it.
        """
        self._model = model
        self._shared = shared
        self._wants_root = root
        self._slots: list[Running | None] = [None] * parallel
        self._caches: list[Cache] = []
        """Of each slot. Between two requests it holds what all share."""
        self._root: Cache | None = None
        self._taken = len(shared)
        """Tokens that are set aside for those under way."""

    def open(self, rows: int) -> None:
        """Make all sequences; the shared beginning is read, so many tokens a pass.

        Raises like the model.
        """
        first = self._model.new_cache()
        self._caches.append(first)
        for start in range(0, len(self._shared), rows):
            self._model.prefill(self._shared[start : start + rows], first)
        for _ in self._slots[1:]:
            self._caches.append(first.fork() if self._shared else self._model.new_cache())
        if self._wants_root:
            self._root = first.fork()

    def close(self) -> None:
        """Give all sequences back."""
        for cache in (*self._caches, *filter(None, [self._root])):
            cache.close()

    def running(self) -> list[Running]:
        """Who is under way."""
        return [one for one in self._slots if one is not None]

    def free(self) -> Iterator[int]:
        """The slots where nobody is."""
        return (slot for slot, one in enumerate(self._slots) if one is None)

    def has_room(self, request: Request, capacity: int) -> bool:
        """Whether its tokens fit beside the others'. Alone everyone is let in."""
        cached = shared_prefix(self._shared, request.prompt)
        return self._taken + request.most - cached <= capacity or not any(self._slots)

    def put(self, slot: int, place: int, request: Request, account: Account) -> Running:
        """Let it in. The slot must be free."""
        one = Running(place, request, self._cut(slot, request), account)
        self._slots[slot] = one
        self._taken += request.most - min(one.cached, len(self._shared))
        return one

    def release(self, one: Running) -> None:
        """It is done."""
        self._slots[self._slots.index(one)] = None
        self._taken -= one.request.most - min(one.cached, len(self._shared))
        one.cache.trim(len(self._shared))

    def close_ranks(self) -> None:
        """Nobody will be let in any more: fill the gaps, so that all who are left are neighbours.

        A gap costs the engine a pass of its own, each time; a move is a copy, once.
        """
        while True:
            gap = next(self.free(), len(self._slots))
            last = max((slot for slot, one in enumerate(self._slots) if one), default=-1)
            if gap >= last:
                return
            self._move(last, gap)

    def _move(self, source: int, target: int) -> None:
        one = self._slots[source]
        if one is not None:
            self._caches[target].close()  # the fork takes its place
            one.cache = self._caches[target] = one.cache.fork()
            self._slots[source], self._slots[target] = None, one

    def _cut(self, slot: int, request: Request) -> Cache:
        """The slot's cache, with no more in it than the prompt begins with."""
        cache = self._caches[slot]
        if self._root is not None and len(cache.tokens) < len(self._root.tokens):
            cache.close()
            cache = self._caches[slot] = self._root.fork()
        common = shared_prefix(cache.tokens, request.prompt)
        cache.trim(min(common, len(request.prompt) - 1))
        return cache
