"""How far it pays to guess ahead: on machines whose times are made up."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

import pytest

from nextok.generation.draft_length import DraftLength
from nextok.generation.events import Speculation
from nextok.generation.step_costs import AssumedCosts, Costs, MeasuredCosts

TOKENS = 400
PLAIN = 0.02
"""Seconds of a plain step."""
BOUND_BY_MEMORY = {1: 1.0, 2: 1.3, 4: 2.0, 8: 3.4, 16: 5.0, 32: 8.0, 63: 12.0}
"""What passes cost with F16 weights on two cores, in plain steps, by their rows."""
BOUND_BY_ARITHMETIC = {1: 1.0, 2: 1.95, 4: 3.3, 8: 5.5, 16: 10.4, 63: 41.0}
"""The same with Q4_1 weights."""
NEARLY_FREE = {1: 1.0, 63: 1.5}
"""A GPU."""


class Machine:
    """Runs a generation in which it is known which guesses come true."""

    def __init__(
        self,
        rows: Mapping[int, float],
        *,
        drafting: float = 0.0,
        noise: float = 0.0,
        costs: Costs | None = None,
        hope: float = 0.5,
        seed: int = 1,
    ) -> None:
        """drafting: what a guess costs. noise: how much longer a pass takes, on average."""
        self.costs = costs or MeasuredCosts()
        self.length = DraftLength(self.costs, hope=hope)
        self.drafts: list[int] = []
        self.asked = 0
        self.gain = 0.0
        self._rows = rows
        self._drafting = drafting
        self._noise = noise
        self._random = random.Random(seed)

    def run(self, comes_true: Sequence[bool], has_guess: Callable[[int], bool] = bool) -> Machine:
        """comes_true: of a guess for each token of the text."""
        place, unread, seconds, plain = 0, 0, 0.0, 0.0
        while place < TOKENS:
            limit = self.length.limit(TOKENS - place - 1)
            guess, took = [], 0.0
            if limit:
                self.asked += 1
                if has_guess is bool or has_guess(place):
                    guess = [int(true) for true in comes_true[place : place + limit]]
                took = self._took(self._drafting * (unread + len(guess)))
            draft = self.length.choose(guess, took)
            accepted = next((at for at, true in enumerate(draft) if not true), len(draft))
            passed = self._took(self.cost(1 + len(draft)))
            self.length.learn([1] * (accepted + 1), passed)
            seconds += passed + took
            plain += sum(self._took(1.0) for _ in range(accepted + 1))
            unread = 1 + (accepted == len(guess)) if guess else unread + 1
            place += accepted + 1
            self.drafts.append(len(draft))
        self.gain = plain / seconds
        return self

    def cost(self, rows: int) -> float:
        """In plain steps."""
        counts = sorted(self._rows)
        above = counts[bisect_left(counts, rows)]
        if above == rows:
            return self._rows[rows]
        below = counts[bisect_left(counts, rows) - 1]
        share = (rows - below) / (above - below)
        return self._rows[below] + share * (self._rows[above] - self._rows[below])

    def _took(self, cost: float) -> float:
        return PLAIN * cost * (1 + self._noise * self._random.expovariate(1))


def now_and_then(share: float, seed: int = 5) -> list[bool]:
    """Guesses that come true by chance."""
    chance = random.Random(seed)
    return [chance.random() < share for _ in range(2 * TOKENS)]


def copied(run: int, gap: int = 3) -> list[bool]:
    """A text of which `run` tokens are copied, then `gap` are new, and so on."""
    return [place % (run + gap) < run for place in range(2 * TOKENS)]


MACHINES = [BOUND_BY_MEMORY, BOUND_BY_ARITHMETIC, NEARLY_FREE]


@pytest.mark.parametrize("rows", MACHINES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("drafting", [0.0, 0.1, 0.4, 1.0])
def test_it_never_loses_much(rows: Mapping[int, float], share: float, drafting: float) -> None:
    assert Machine(rows, drafting=drafting).run(now_and_then(share)).gain > 0.97


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_a_copied_text_is_copied_fast(noise: float) -> None:
    """Seven runs, the median of them: noise is luck."""
    runs = [Machine(BOUND_BY_MEMORY, noise=noise, seed=seed).run(copied(150)) for seed in range(7)]
    gains = sorted(run.gain for run in runs)
    assert gains[3] > (1.9 if noise else 2.5)


def test_it_pays_where_a_machine_computes_more_than_it_reads() -> None:
    assert Machine(BOUND_BY_ARITHMETIC).run(copied(150)).gain > 1.2
    assert Machine(NEARLY_FREE).run(copied(150)).gain > 8
    assert Machine(NEARLY_FREE).run(copied(20)).gain > 3


def test_drafts_grow_with_what_comes_true() -> None:
    run = Machine(NEARLY_FREE).run([True] * 2 * TOKENS)
    grown = [length for length in run.drafts if length]
    assert grown[0] <= 4
    assert 62 in run.drafts
    assert grown[:6] == sorted(grown[:6])
    assert run.drafts[:3] == [0, 0, 0]  # what a plain step takes must be known


def test_guesses_that_are_free_are_made_to_see_how_they_would_do() -> None:
    run = Machine(BOUND_BY_ARITHMETIC).run(now_and_then(0.2))
    assert run.asked > TOKENS * 0.9
    assert sum(map(bool, run.drafts)) < 12


def test_guesses_that_are_dear_are_not_made_for_nothing() -> None:
    run = Machine(BOUND_BY_ARITHMETIC, drafting=0.3).run(now_and_then(0.2))
    assert run.asked < 8


def test_a_small_model_pays_where_rows_are_cheap() -> None:
    fast = Machine(NEARLY_FREE, drafting=0.1, hope=0.8).run(now_and_then(0.8))
    assert fast.gain > 1.7
    assert fast.length.figures.accepted > TOKENS / 2


def test_it_tries_again_when_the_text_has_changed() -> None:
    """The first half is new, the second a copy."""
    half = TOKENS // 2
    text = [*now_and_then(0.1)[:half], *[True] * 2 * TOKENS]
    run = Machine(BOUND_BY_MEMORY).run(text)
    assert sum(run.drafts[: half // 2]) < 20
    assert max(run.drafts) >= 12
    assert run.gain > 1.4


def test_it_tries_again_when_the_machine_has_changed() -> None:
    """Passes over several rows were slow at first, for whatever reason."""
    costs = MeasuredCosts()
    for _ in range(3):
        costs.passed(1, PLAIN)
    for rows in (2, 3, 4):
        costs.passed(rows, PLAIN * rows * 1.2)
    run = Machine(BOUND_BY_MEMORY, costs=costs).run([True] * 2 * TOKENS)
    assert run.gain > 1.5


def test_a_plain_step_comes_in_between() -> None:
    """What one costs changes as the text grows."""
    run = Machine(NEARLY_FREE, drafting=0.01, hope=0.8)
    run.run([place % 2 == 0 for place in range(2 * TOKENS)])
    together = "".join("x" if length else " " for length in run.drafts).split()
    assert max(map(len, together)) <= 64


def test_it_stays_within_the_room() -> None:
    length = DraftLength(AssumedCosts(drafting=0, row=0.1))
    for room in (-1, 0, 1, 2, 5, 62, 10**9):
        limit = length.limit(room)
        assert 0 <= limit <= max(0, room)
        length.choose([7] * limit, 0.0)
        length.learn([7] * (limit + 1), 0.0)


def test_nothing_is_guessed_once_it_was_given_up() -> None:
    length = DraftLength(AssumedCosts(drafting=0, row=0.1))
    assert length.limit(10)
    length.give_up()
    assert length.limit(10) == 0


def test_assumed_costs_decide_without_a_clock() -> None:
    """So that a run can be repeated: the same text, the same drafts, whatever passes take."""
    drafts = []
    for rows, seed in ((BOUND_BY_MEMORY, 1), (BOUND_BY_ARITHMETIC, 2)):
        costs = AssumedCosts(drafting=0, row=0.6)
        run = Machine(rows, noise=1.0, seed=seed, costs=costs).run(copied(30))
        drafts.append(run.drafts)
    assert drafts[0] == drafts[1]
    assert max(drafts[0]) > 3


def test_assumed_costs_lose_little() -> None:
    for share in (0.0, 0.2, 0.4):
        run = Machine(BOUND_BY_ARITHMETIC, costs=AssumedCosts(drafting=0, row=0.6))
        assert run.run(now_and_then(share)).gain > 0.97


def test_the_figures_say_what_came_of_it() -> None:
    assert DraftLength(MeasuredCosts()).figures == Speculation(
        drafted=0, accepted=0, steps=0, gain=None
    )
    run = Machine(NEARLY_FREE).run(copied(50))
    figures = run.length.figures
    assert figures.drafted == sum(run.drafts)
    assert figures.steps == sum(map(bool, run.drafts))
    assert figures.accepted == TOKENS - len(run.drafts)
    assert figures.gain == pytest.approx(run.gain, rel=0.01)
