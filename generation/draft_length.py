"""How far it pays to guess ahead.

Promises that guessing costs no more than it has gained before, a few steps and one percent of all
steps: where it loses it stops, and tries again from time to time. Goes by how often guesses come
true and by what passes cost. Pure: it reads no clock and sees no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from nextok.generation.events import Speculation
from nextok.generation.guess_record import GuessRecord
from nextok.generation.step_costs import Costs

_PAYS = 1.05
"""The gain that is worth it: estimates are off by a few percent."""
_HOPELESS = 0.5
"""The gain below which nothing is tried again."""
_LONG, _LONGER = 12, 1.15
"""How much more a draft longer than that must promise than a shorter one: where it errs it wastes
much."""
_UNPROVEN = 4
"""Guesses that may be verified together before as many have come true in a row."""
_FIRST_CREDIT, _MOST_CREDIT = 2.0, 24.0
"""What may be lost at first, and at most, in plain steps."""
_INTEREST, _TEMPTING_INTEREST = 0.01, 0.04
"""What may be lost for each plain step, and for one in a run of guesses that would all have come
true: there is much to be gained then, if passes cost less by now."""
_TEMPTING = 8
_OVERDRAFT = 1.5
"""What may be lost beyond the credit, where that is unlikely."""
_TRIAL = 1.0
"""Credit that a trial leaves."""
_FREE = 0.005
"""Guesses that cost less are made at every step, to see whether they would have come true."""
_TOGETHER = 64
"""After so many steps with drafts a plain one shows what those cost now."""


class DraftLength:
    """Decides for one generation. Each step: limit, choose, learn."""

    def __init__(self, costs: Costs, *, hope: float = 0.5) -> None:
        """costs: may know something from generations before. hope: the share of guesses that come
        true, as long as none was seen.
        """
        self._costs = costs
        self._record = GuessRecord(hope)
        self._tally = _Tally()
        self._credit = _FIRST_CREDIT
        self._has_begun = self._is_over = False
        self._limit = self._verified = 0
        """How many guesses are to be made, and how many of them verified."""
        self._guess: list[int] = []
        self._draft: list[int] = []
        self._unread = self._read = 0
        """Tokens that the drafter has not seen yet, and those it has read and guessed last."""
        self._since_plain = 0
        """Steps."""

    @property
    def figures(self) -> Speculation:
        """What came of it so far."""
        return self._tally.figures()

    def give_up(self) -> None:
        """Nothing is guessed from now on."""
        self._is_over = True

    def limit(self, room: int) -> int:
        """How many tokens to guess, `room` at most; 0 when the drafter need not be asked."""
        self._has_begun = True
        self._verified = 0 if self._is_over else self._best(room)
        if self._verified or self._is_over or room < 1 or not self._costs.is_known:
            self._limit = self._verified
        else:
            self._limit = int(self._costs.drafting * (self._unread + 1) <= _FREE)
        return self._limit

    def choose(self, guess: list[int], seconds: float) -> list[int]:
        """Those guesses that are to be verified. seconds: what it took to make them."""
        self._guess, self._draft = guess, guess[: self._verified]
        self._read = 0
        if self._limit:
            self._read, self._unread = self._unread + len(guess), 0
            self._costs.drafted(max(1, self._read), seconds)
            self._tally.seconds += seconds
        return self._draft

    def learn(self, drawn: Sequence[int], seconds: float) -> None:
        """The tokens drawn in this step, and what it took without the guessing.

        Of the first ones nothing is learned: their row is the prompt's.
        """
        if not self._has_begun:
            return
        rows = 1 + len(self._draft)
        self._costs.passed(rows, seconds)
        self._tally.step(len(self._draft), len(drawn), seconds)
        self._record.judge(self._guess, drawn)
        if self._guess:  # it has read all its guesses but the last
            self._unread += 1 + (len(drawn) > len(self._guess))
        else:
            self._unread += len(drawn)
        cost = self._costs.rows(rows) + self._costs.drafting * self._read
        self._credit = min(_MOST_CREDIT, self._credit + len(drawn) - cost)
        if self._draft:
            self._since_plain += 1
        else:
            self._since_plain = 0
            is_tempting = self._record.streak >= _TEMPTING
            self._credit += _TEMPTING_INTEREST if is_tempting else _INTEREST

    def _best(self, room: int) -> int:
        """The length of the largest gain that can be afforded, if it pays or is worth a trial."""
        costs = self._costs
        if not costs.is_known or self._since_plain >= _TOGETHER:
            return 0
        likely = self._record.likely
        best, most_gain, risk = 0, _HOPELESS, 0.0
        room = min(room, 2 * costs.explored, max(_UNPROVEN, self._record.streak))
        for length, expected in self._record.expected(room):
            verifying = costs.rows(1 + length)
            lost = verifying + costs.drafting * (self._unread + length) - 1
            if lost > self._credit + _OVERDRAFT or lost * (1 - likely) > self._credit:
                break
            gain = expected / (verifying + costs.drafting * (1 + length))
            if gain > most_gain * (_LONGER if length > _LONG else 1):
                best, most_gain, risk = length, gain, lost
        may_try = costs.learns and self._credit >= risk + _TRIAL
        return best if most_gain >= _PAYS or may_try else 0


class _Tally:
    """Counts for whoever wants to know."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Of all steps, guessing included."""
        self._tokens = 0
        self._drafted = self._accepted = self._steps = 0
        self._plain_steps, self._plain_seconds = 0, 0.0

    def step(self, drafted: int, drawn: int, seconds: float) -> None:
        self.seconds += seconds
        self._tokens += drawn
        if drafted:
            self._drafted += drafted
            self._accepted += drawn - 1
            self._steps += 1
        else:
            self._plain_steps += 1
            self._plain_seconds += seconds

    def figures(self) -> Speculation:
        gain = None
        if self._plain_steps and self._steps and self.seconds > 0:
            gain = self._tokens * self._plain_seconds / self._plain_steps / self.seconds
        return Speculation(
            drafted=self._drafted, accepted=self._accepted, steps=self._steps, gain=gain
        )
