"""The written-out nucleus sampler, on vectors whose answers can be computed by hand."""

from __future__ import annotations

import math

import pytest

from nextok.generation.errors import EngineError
from nextok.generation.nucleus import NucleusSampler, nucleus, softmax


def test_softmax_at_two_temperatures() -> None:
    scores = [math.log(1), math.log(3)]
    assert softmax(scores, 1.0) == pytest.approx([0.25, 0.75])
    assert softmax(scores, 0.5) == pytest.approx([0.1, 0.9])


def test_softmax_does_not_overflow() -> None:
    assert softmax([1e30, 0.0], 1e-6) == [1.0, 0.0]


def test_the_nucleus_is_the_smallest_set_that_reaches_top_p() -> None:
    probabilities = [0.1, 0.5, 0.4]
    assert nucleus(probabilities, 0.0) == [(1, 0.5)]
    assert nucleus(probabilities, 0.5) == [(1, 0.5)]
    assert nucleus(probabilities, 0.51) == [(1, 0.5), (2, 0.4)]
    assert nucleus(probabilities, 1.0) == [(1, 0.5), (2, 0.4), (0, 0.1)]


def test_temperature_zero_takes_the_lowest_id_among_equals() -> None:
    sampler = NucleusSampler(temperature=0, top_p=1.0, seed=1)
    assert sampler.sample([0.0, 2.0, 2.0, 1.0]) == 1


def test_the_seed_decides_and_reset_starts_again() -> None:
    row = [0.0] * 50
    first, second = (NucleusSampler(temperature=1, top_p=1.0, seed=7) for _ in range(2))
    drawn = [first.sample(row) for _ in range(20)]
    assert drawn == [second.sample(row) for _ in range(20)]
    first.reset()
    assert drawn == [first.sample(row) for _ in range(20)]


@pytest.mark.parametrize("row", [[math.nan, 1.0], [-math.inf, -math.inf], [math.inf, 0.0]])
def test_no_number_to_choose_is_an_error(row: list[float]) -> None:
    with pytest.raises(EngineError, match="NaN"):
        NucleusSampler(temperature=1, top_p=1.0, seed=1).sample(row)
