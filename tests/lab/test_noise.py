"""Medians and ratios: what they say, and when they say that they say nothing."""

from __future__ import annotations

from itertools import product

import pytest

from nextok.lab.noise import DOUBT, FEWEST, Finding, Ratio, Spread, outside


def missed(count: int, left_out: int) -> float:
    """How often the true median is outside: of all ways to lie above or below it."""
    ways = [sum(way) for way in product((0, 1), repeat=count)]
    return sum(below <= left_out or count - below <= left_out for below in ways) / len(ways)


@pytest.mark.parametrize("count", range(1, 13))
def test_an_interval_is_as_narrow_as_its_doubt_allows(count: int) -> None:
    left_out = outside(count)
    assert (left_out is None) == (count < FEWEST)
    if left_out is not None:
        assert missed(count, left_out) <= DOUBT < missed(count, left_out + 1)


def test_ratios_are_of_pairs_so_that_a_drift_does_not_matter() -> None:
    found = Ratio.of_pairs([10, 20, 40, 20, 10], [8, 16, 32, 16, 8])
    assert found == Ratio(median=1.25, low=1.25, high=1.25, finding=Finding.DIFFERENT)


def test_a_difference_no_larger_than_the_noise_is_none() -> None:
    found = Ratio.of_pairs([0.9, 1.1, 1.2, 1.3, 1.4], [1] * 5)
    assert found == Ratio(median=1.2, low=0.9, high=1.4, finding=Finding.NOISE)


def test_one_odd_pair_of_many_does_not_hide_a_difference() -> None:
    found = Ratio.of_pairs([1.2] * 7 + [0.5], [1] * 8)
    assert found == Ratio(median=1.2, low=1.2, high=1.2, finding=Finding.DIFFERENT)


def test_few_pairs_decide_nothing() -> None:
    found = Ratio.of_pairs([2, 3, 4], [1, 1, 1])
    assert found == Ratio(median=3, low=2, high=4, finding=Finding.UNKNOWN)


def test_a_pair_without_a_time_is_none() -> None:
    assert Ratio.of_pairs([1], [0]) is None
    assert Ratio.of_pairs([], []) is None
    found = Ratio.of_pairs([1, 3], [0, 2])
    assert found is not None and found.median == 1.5


def test_a_spread_is_from_the_lowest_to_the_highest() -> None:
    assert Spread.of([3, 1, 2]) == Spread(median=2, low=1, high=3)
