"""The loop for many prompts at once: every pass carries one token of each sequence that speaks,
with what is guessed to follow it, and as much of the prompts that are not read yet as there is room
for.

Promises each request the events of the single loop, in its own order; that who has finished is
replaced before the next pass; and that nobody who speaks waits for a prompt longer than a pass.
Knows nothing of where requests come from, nor of what a sequence costs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from nextok.generation.abort import Abort, Aborted
from nextok.generation.account import Account
from nextok.generation.batch_guessing import Guessing
from nextok.generation.batch_slots import Slots
from nextok.generation.errors import EngineError
from nextok.generation.events import Finish, Prefill, Token
from nextok.generation.finish import FinishReason
from nextok.generation.model import Chunk, Logits, Model
from nextok.generation.request import Request, Running, next_pass
from nextok.generation.speculation import sample_rows


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
    """Sequences, all made at once; the model must have one more if there is to be a `root`."""
    capacity: int
    """The most tokens that all sequences may hold together, shared ones counted once."""
    rows: int
    """The most tokens a pass may carry: at least `parallel`, at most the model's batch size."""
    shared: Sequence[int] = ()
    """The beginning of many prompts, shorter than any of them: read once."""
    apart: bool = False
    """Whether each sequence has a memory of its own: then the engine computes only neighbours
    together."""
    guessing: Guessing | None = None
    """What guesses ahead, if anything does; the memory must be one that can be cut."""
    root: bool = False
    """Whether one more sequence keeps it: where a memory cannot be cut back to it."""


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
    """Which request is next, and what goes into the next pass."""

    def __init__(self, batch: Batch, requests: Iterator[Request]) -> None:
        self._batch = batch
        self._waiting = enumerate(requests)
        self._next = next(self._waiting, None)
        self._slots = Slots(
            batch.model, parallel=batch.parallel, shared=batch.shared, root=batch.root
        )

    def close(self) -> None:
        """Give all sequences back."""
        self._slots.close()

    def run(self) -> Generator[Told, None, None]:
        if self._next is None:
            return
        try:
            self._slots.open(self._batch.rows)
            while True:
                # 1. Admit: every free sequence is given to the next request.
                yield from self._admit()
                running = self._slots.running()
                if not running:
                    return
                if self._batch.apart and self._next is None:
                    self._slots.close_ranks()
                    running = self._slots.running()
                # 2. Propose: guess what comes next, as far as it pays.
                if self._batch.guessing is not None:
                    self._batch.guessing.propose(running, self._batch.rows)
                # 3. Pass: all that speak, with their guesses, and what is left of the prompts.
                chunks, readers = next_pass(running, self._batch.rows)
                began = self._batch.clock()
                rows = self._batch.model.extend(chunks)
                # 4. Sample: each its own rows.
                yield from self._sample(chunks, readers, rows, began)
                # 5. Stop? Time may be over.
                yield from self._expire()
        except Aborted:
            yield from self._end_all(self._batch.abort.reason or FinishReason.INTERRUPTED, None)
        except EngineError as error:
            yield from self._end_all(FinishReason.ERROR, error)
            raise

    # -- who is next

    def _admit(self) -> Iterator[Told]:
        for slot in self._slots.free():
            yield from self._skip()
            if self._next is None or not self._slots.has_room(self._next[1], self._batch.capacity):
                return
            place, request = self._next
            self._next = next(self._waiting, None)
            account = self._account(request)
            one = self._slots.put(slot, place, request, account)
            now = self._batch.clock()
            one.begin(now)
            yield Told(place, account.event(one.reading, now))

    def _skip(self) -> Iterator[Told]:
        """Those that are to say nothing need no sequence."""
        while self._next is not None and self._next[1].max_tokens == 0:
            place, request = self._next
            self._next = next(self._waiting, None)
            account = self._account(request)
            yield Told(place, account.finish(FinishReason.LENGTH, None, self._batch.clock()))

    def _account(self, request: Request) -> Account:
        return Account(
            len(request.prompt),
            self._batch.piece,
            stops=request.stops,
            origin=self._batch.clock(),
        )

    # -- after a pass

    def _sample(
        self,
        chunks: Sequence[Chunk],
        readers: Sequence[Running],
        rows: Sequence[Logits],
        began: float,
    ) -> Iterator[Told]:
        """What a pass means for each of those it was for."""
        reads = any(one.token is None for one in readers)
        left, now = iter(rows), self._batch.clock()
        for one, chunk in zip(readers, chunks, strict=True):
            if one.token is None:
                one.read += len(chunk.tokens)
                one.last = now
                yield Told(one.place, one.account.event(one.reading, now))
            if chunk.rows:
                yield from self._draw(one, list(islice(left, chunk.rows)), began)
        if self._batch.guessing is not None and not reads:
            self._batch.guessing.took(self._batch.clock() - began)

    def _draw(self, one: Running, rows: Sequence[Logits], began: float) -> Iterator[Told]:
        is_end = self._batch.is_end
        try:
            drawn, is_over = sample_rows(one.request.sampler, is_end, rows, one.draft)
        except EngineError as error:
            yield self._end(one, FinishReason.ERROR, error)
            return
        now = self._batch.clock()
        if one.guesses is not None:
            one.guesses.length.learn(drawn, now - began)
        reason = None
        for step in one.steps(drawn[: len(drawn) - is_over], now):
            yield Told(one.place, one.account.event(step, now))
            reason = one.ended()
            if reason is not None:
                break
        if reason is not None or is_over:
            yield self._end(one, reason or FinishReason.EOS)
        elif one.draft:
            one.cache.trim(len(one.history) - 1)  # less what was not drawn

    # -- endings

    def _expire(self) -> Iterator[Told]:
        now = self._batch.clock()
        for one in self._slots.running():
            if one.is_late(now):
                yield self._end(one, FinishReason.TIMEOUT)

    def _end_all(self, reason: FinishReason, error: Exception | None) -> Iterator[Told]:
        for one in self._slots.running():
            yield self._end(one, reason, error)

    def _end(self, one: Running, reason: FinishReason, error: Exception | None = None) -> Told:
        """Its sequence is free from here on."""
        self._slots.release(one)
        finish = one.account.finish(reason, error, self._batch.clock())
        if self._batch.guessing is not None:
            finish = finish._replace(speculation=self._batch.guessing.release(one))
        return Told(one.place, finish)
