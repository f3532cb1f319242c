"""The loop for many prompts at once: every pass carries one token of each sequence that speaks,
and as much of the prompts that are not read yet as there is room for.

Promises each request the events of the single loop, in its own order; that who has finished is
replaced before the next pass; and that nobody who speaks waits for a prompt longer than a pass.
Knows nothing of where requests come from, nor of what a sequence costs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nextok.generation.abort import Abort, Aborted
from nextok.generation.account import Account
from nextok.generation.errors import EngineError
from nextok.generation.events import Finish, Prefill, Step, Token
from nextok.generation.finish import FinishReason
from nextok.generation.loop import shared_prefix
from nextok.generation.model import Cache, Chunk, Logits, Model
from nextok.generation.request import Request, Running


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What all requests share."""

    model: Model
    piece: Callable[[int], bytes]
    """The bytes of a token."""
    is_end: Callable[[int], bool]
    clock: Callable[[], float]
    abort: Abort
    parallel: int
    """The most sequences that are under way; the model must have one more if `shared` is used."""
    capacity: int
    """The most tokens that all sequences may hold together, shared ones counted once."""
    rows: int
    """The most tokens a pass may carry: at least `parallel`, at most the model's batch size."""
    shared: Sequence[int] = ()
    """The beginning of many prompts, shorter than any of them: read once."""


class Told(NamedTuple):
    """An event, and the request it belongs to: its place among them, from 0."""

    place: int
    event: Prefill | Token | Finish


def batched(batch: Batch, requests: Iterator[Request]) -> Generator[Told, None, None]:
    """Run them all. A request is taken from the iterator when there is a sequence for it.

    A sampler's failure is its own request's Finish. After an abort, and when the engine fails,
    whoever is under way is told a Finish, too; of those that wait nothing is said.
    Raises EngineError when the engine fails.
    """
    scheduler = _Scheduler(batch, requests)
    try:
        yield from scheduler.run()
    finally:
        scheduler.close()


class _Scheduler:
    """Which request has which sequence, and what goes into the next pass."""

    def __init__(self, batch: Batch, requests: Iterator[Request]) -> None:
        self._batch = batch
        self._waiting = enumerate(requests)
        self._next = next(self._waiting, None)
        self._slots: list[Running | None] = [None] * batch.parallel
        self._root: Cache | None = None
        """Holds the shared beginning."""
        self._taken = 0
        """Tokens that are set aside for those under way."""

    def close(self) -> None:
        """Give all sequences back."""
        for one in self._running():
            one.cache.close()
        if self._root is not None:
            self._root.close()

    def run(self) -> Generator[Told, None, None]:
        try:
            self._read_shared()
            while True:
                # 1. Admit: every free sequence is given to the next request.
                yield from self._admit()
                if not any(self._slots):
                    return
                # 2. Pass: all that speak, and what is left of the prompts.
                chunks, readers = self._chunks()
                rows = iter(self._batch.model.extend(chunks))
                # 3. Sample: each its own row.
                now = self._batch.clock()
                for one, chunk in zip(readers, chunks, strict=True):
                    yield from self._passed(one, chunk, rows, now)
                # 4. Stop? Time may be over.
                yield from self._expire()
        except Aborted:
            yield from self._end_all(self._batch.abort.reason or FinishReason.INTERRUPTED, None)
        except EngineError as error:
            yield from self._end_all(FinishReason.ERROR, error)
            raise

    # -- who is under way

    def _running(self) -> list[Running]:
        return [one for one in self._slots if one is not None]

    def _read_shared(self) -> None:
        """One sequence reads what all begin with; the others are forked from it."""
        batch = self._batch
        if not batch.shared or self._next is None:
            return
        self._root = batch.model.new_cache()
        self._taken = len(batch.shared)
        for start in range(0, len(batch.shared), batch.rows):
            batch.model.prefill(batch.shared[start : start + batch.rows], self._root)

    def _admit(self) -> Iterator[Told]:
        for slot, one in enumerate(self._slots):
            while one is None and self._next is not None:
                place, request = self._next
                if request.max_tokens != 0 and not self._has_room(request):
                    return
                self._next = next(self._waiting, None)
                now = self._batch.clock()
                account = Account(
                    len(request.prompt), self._batch.piece, stops=request.stops, origin=now
                )
                if request.max_tokens == 0:
                    yield Told(place, account.finish(FinishReason.LENGTH, None, now))
                    continue
                one = self._slots[slot] = Running(place, request, self._cache(request), account)
                one.begin(now)
                self._taken += request.most - one.cached
                yield Told(place, account.event(one.reading, self._batch.clock()))

    def _has_room(self, request: Request) -> bool:
        """Whether its tokens fit beside the others'. Alone everyone is let in."""
        cached = len(self._batch.shared) if self._shares(request) else 0
        fits = self._taken + request.most - cached <= self._batch.capacity
        return fits or not any(self._slots)

    def _shares(self, request: Request) -> bool:
        shared = self._batch.shared
        return self._root is not None and shared_prefix(shared, request.prompt) == len(shared)

    def _cache(self, request: Request) -> Cache:
        if self._root is not None and self._shares(request):
            return self._root.fork()
        return self._batch.model.new_cache()

    # -- a pass

    def _chunks(self) -> tuple[list[Chunk], list[Running]]:
        """In the order of the sequences: engines compute neighbours together."""
        running = self._running()
        room = self._batch.rows - sum(one.token is not None for one in running)
        rooms: dict[int, int] = {}
        for one in sorted(running, key=lambda one: one.place):  # who came first reads first
            if one.token is None:
                rooms[one.place] = min(room, one.unread)
                room -= rooms[one.place]
        chunks, readers = [], []
        for one in running:
            if one.token is not None:
                chunks.append(Chunk(one.cache, (one.token,)))
            elif rooms[one.place]:
                chunks.append(one.piece(rooms[one.place]))
            else:
                continue
            readers.append(one)
        return chunks, readers

    def _passed(
        self, one: Running, chunk: Chunk, rows: Iterator[Logits], now: float
    ) -> Iterator[Told]:
        """What a pass means for one sequence."""
        if one.token is None:
            one.read += len(chunk.tokens)
            one.last = now
            yield Told(one.place, one.account.event(one.reading, now))
        if chunk.rows:
            yield from self._draw(one, next(rows))

    def _draw(self, one: Running, logits: Logits) -> Iterator[Told]:
        try:
            token = one.request.sampler.sample(logits)
        except EngineError as error:
            yield self._end(one, FinishReason.ERROR, error)
            return
        if self._batch.is_end(token):
            yield self._end(one, FinishReason.EOS)
            return
        now = self._batch.clock()
        event = one.account.event(Step(token, now, now - one.last), now)
        one.token, one.last, one.produced = token, now, one.produced + 1
        yield Told(one.place, event)
        reason = one.ended()
        if reason is not None:
            yield self._end(one, reason)

    # -- endings

    def _expire(self) -> Iterator[Told]:
        now = self._batch.clock()
        for one in self._running():
            if one.is_late(now):
                yield self._end(one, FinishReason.TIMEOUT)

    def _end_all(self, reason: FinishReason, error: Exception | None) -> Iterator[Told]:
        for one in self._running():
            yield self._end(one, reason, error)

    def _end(self, one: Running, reason: FinishReason, error: Exception | None = None) -> Told:
        """Its sequence is free from here on."""
        self._slots[self._slots.index(one)] = None
        self._taken -= one.request.most - one.cached
        one.cache.close()
        return Told(one.place, one.account.finish(reason, error, self._batch.clock()))
