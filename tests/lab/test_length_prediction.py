"""Predicting lengths: what is planted is found, and what is not there is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nextok.lab.length_data import Answer
from nextok.lab.length_prediction import Prediction, _gain, by_prompt, predictions, ranks

GENERATOR = np.random.default_rng(11)
PROMPTS = GENERATOR.integers(10, 1000, 400)


def found(lengths: np.ndarray, prompts: np.ndarray | None = PROMPTS) -> dict[str, Prediction]:
    known = [None] * len(lengths) if prompts is None else prompts.tolist()
    answers = [
        Answer(int(length), False, prompt) for length, prompt in zip(lengths, known, strict=True)
    ]
    return {one.name: one for one in predictions(answers, 1)}


def test_lengths_that_are_twice_the_prompts() -> None:
    every = found(2 * PROMPTS)
    line, similar = every["line through prompt lengths"], every["median of similar prompt lengths"]
    assert line.mean_absolute_error < 5
    assert line.rank_correlation == pytest.approx(1, abs=1e-3)
    assert line.scheduling_gain == pytest.approx(1, abs=1e-3)
    assert similar.rank_correlation is not None and similar.rank_correlation > 0.99


def test_lengths_that_go_up_and_down_with_prompts_are_no_line() -> None:
    every = found(np.where(abs(PROMPTS - 500) < 200, 400, 50) + PROMPTS % 7)
    assert every["line through prompt lengths"].scheduling_gain < 0.3
    assert every["median of similar prompt lengths"].scheduling_gain > 0.8


def test_lengths_that_prompts_say_nothing_of() -> None:
    every = found(np.random.default_rng(3).integers(1, 500, 400))
    for one in every.values():
        assert abs(one.scheduling_gain) < 0.15
        assert one.rank_correlation is None or abs(one.rank_correlation) < 0.15


def test_nothing_known() -> None:
    every = found(np.array([10, 10, 10, 110] * 25), None)
    assert list(every) == ["mean", "median"]
    assert every["median"].mean_absolute_error == pytest.approx(25)
    assert every["mean"].mean_absolute_error == pytest.approx(37.5, abs=1)
    assert every["mean"].rank_correlation is None
    assert every["mean"].scheduling_gain == 0.0


def test_too_few_or_equal_prompts_are_not_used() -> None:
    assert list(found(np.arange(9), np.arange(9))) == ["mean", "median"]
    assert list(found(np.arange(20), np.full(20, 5))) == ["mean", "median"]


def test_the_gain_is_the_share_of_the_wait_that_is_saved() -> None:
    """Held against waits that are added up, over every order of four answers."""
    true = np.array([5.0, 1.0, 8.0, 2.0])

    def wait(places: tuple[int, ...]) -> float:
        served = true[list(places)]
        return float(np.cumsum(served)[:-1].sum()) / len(true)

    orders = list(itertools.permutations(range(4)))
    chance = sum(map(wait, orders)) / len(orders)
    best = min(map(wait, orders))
    for order in orders:
        predicted = np.empty(4)
        predicted[list(order)] = np.arange(4)
        expected = (chance - wait(order)) / (chance - best)
        assert _gain(predicted, true) == pytest.approx(expected)


def test_equal_values_share_their_places() -> None:
    assert ranks(np.array([7.0, 3.0, 7.0, 9.0])).tolist() == [2.5, 1.0, 2.5, 4.0]


def test_groups_of_prompts() -> None:
    answers = [Answer(tokens=place, prompt_tokens=place) for place in range(1, 201)]
    groups = by_prompt(answers)
    assert len(groups) == 20
    assert (groups[0].shortest, groups[-1].longest) == (1, 200)
    for before, after in itertools.pairwise(groups):
        assert before.longest < after.shortest
        assert before.shortest <= before.quartiles[1] <= before.longest
    assert by_prompt(answers[:9]) == []
    assert by_prompt([Answer(tokens=3)] * 50) == []
