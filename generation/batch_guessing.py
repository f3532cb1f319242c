"""Guessing ahead in a batch: the guesses of all sequences are verified in the one pass they share.

Promises what the single loop does: guesses change how long a batch takes, and nothing of what is
said. A pass of many sequences keeps the engine busy as it is, so that a row more costs about as
much as it may save; few sequences leave it waiting for its weights, as one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nextok.generation.draft_length import DraftLength
from nextok.generation.events import Speculation
from nextok.generation.request import Guesses, Running
from nextok.generation.speculation import MOST_DRAFTS, Drafter, proposal
from nextok.generation.step_costs import Costs

_TOGETHER = 64
"""After so many passes with guesses one without them shows what those cost now."""


class SharedCosts:
    """What rows cost one of the sequences of a pass, in what its token costs without guesses.

    Costs by the number of sequences tell what the drafts of all of them add to a pass. Of n that
    share it everybody's token costs an nth; a row that one of them adds is paid for by it alone.
    """

    def __init__(self, costs: Callable[[int], Costs]) -> None:
        """costs: made for a number of sequences, in passes without guesses."""
        self._make = costs
        self._costs: dict[int, Costs] = {}
        self._sequences = 1
        self.drafts = 0
        """In the pass, whoever's they are."""

    def begin(self, sequences: int) -> None:
        """Another pass, in which so many speak."""
        self._sequences, self.drafts = sequences, 0

    def add(self, drafts: int) -> None:
        """The pass carries so many drafts more, whoever's they are."""
        self.drafts += drafts

    def took(self, seconds: float) -> None:
        """The pass, with nothing else in it."""
        self._now.passed(1 + self.drafts, seconds)

    @property
    def is_known(self) -> bool:
        return self._now.is_known

    @property
    def learns(self) -> bool:
        return self._now.learns

    @property
    def explored(self) -> int:
        return max(1, self._now.explored - self.drafts)

    @property
    def drafting(self) -> float:
        return self._sequences * self._now.drafting

    def rows(self, count: int) -> float:
        before, after = self._now.rows(1 + self.drafts), self._now.rows(self.drafts + count)
        return 1 + self._sequences * (after - before)

    def passed(self, rows: int, seconds: float) -> None:
        """One sequence's rows say nothing: `took` has counted all."""

    def drafted(self, tokens: int, seconds: float) -> None:
        self._now.drafted(tokens, seconds)

    @property
    def _now(self) -> Costs:
        if self._sequences not in self._costs:
            self._costs[self._sequences] = self._make(self._sequences)
        return self._costs[self._sequences]


class Guessing:
    """For all requests of a batch. Each pass: propose, then took, if nothing else was in it."""

    def __init__(
        self,
        drafters: Sequence[Drafter],
        costs: SharedCosts,
        *,
        hope: float,
        is_end: Callable[[int], bool],
        vocabulary: int,
        clock: Callable[[], float],
    ) -> None:
        """drafters: one for each that can be under way. hope: the share of guesses that come true,
        as long as none was seen.
        """
        self._free = list(drafters)
        self._costs = costs
        self._hope = hope
        self._is_end = is_end
        self._vocabulary = vocabulary
        self._clock = clock
        self._since_plain = 0

    def propose(self, running: Sequence[Running], rows: int) -> None:
        """Give each of them a draft, or none. rows: the most that the pass may carry.

        Beside a prompt nobody guesses: what a row costs there says nothing of what it costs later.
        Raises Aborted.
        """
        self._costs.begin(len(running))
        room = min(rows, 1 + MOST_DRAFTS) - len(running)
        if any(one.token is None for one in running) or self._since_plain >= _TOGETHER:
            room = 0
        for one in running:
            if one.token is not None:
                one.draft = self._draft(one, min(room, one.room))
                room -= len(one.draft)
                self._costs.add(len(one.draft))

    def took(self, seconds: float) -> None:
        """The pass that was proposed to."""
        self._since_plain = self._since_plain + 1 if self._costs.drafts else 0
        self._costs.took(seconds)

    def release(self, one: Running) -> Speculation:
        """It is done, and its drafter is the next one's. What came of its guesses."""
        if one.guesses is None:
            return Speculation(drafted=0, accepted=0, steps=0, gain=None)
        self._free.append(one.guesses.drafter)
        return one.guesses.length.figures

    def _draft(self, one: Running, room: int) -> list[int]:
        guesses = one.guesses = one.guesses or self._begun()
        limit = guesses.length.limit(room)
        if limit and not guesses.has_read:
            guesses.has_read = True
            guesses.drafter.reset(one.request.prompt)
        guess, seconds = proposal(
            guesses.drafter,
            one.history,
            limit,
            self._is_end,
            self._vocabulary,
            self._clock,
        )
        return guesses.length.choose(guess, seconds)

    def _begun(self) -> Guesses:
        return Guesses(self._free.pop(), DraftLength(self._costs, hope=self._hope))
