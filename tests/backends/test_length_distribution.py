"""Distributions of lengths, with values worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.backends.length_distribution import Bin, Lengths
from nextok.generation.timings import percentile


def lengths(*values: int) -> Lengths:
    return Lengths(Counter(values))


def test_nothing_has_no_figures() -> None:
    nothing = lengths()
    assert (nothing.count, nothing.total, nothing.longest) == (0, 0, None)
    assert nothing.percentile(50) is None
    assert nothing.percentiles_from(3, (50, 95)) == []
    assert nothing.longest_ones(1) == (0, None)
    assert nothing.bins() == []


def test_one_length_is_every_percentile() -> None:
    one = lengths(7)
    assert [one.percentile(percent) for percent in (0, 50, 100)] == [7, 7, 7]
    assert (one.count, one.total, one.longest) == (1, 7, 7)


def test_percentiles_lie_between_the_two_nearest() -> None:
    some = lengths(10, 20, 30, 40)
    assert some.percentile(50) == 25
    assert some.percentile(95) == pytest.approx(38.5)
    assert some.percentile(99) == pytest.approx(39.7)


def test_percentiles_of_those_that_are_long_enough() -> None:
    some = lengths(1, 10, 20, 30, 30)
    assert some.percentiles_from(10, (0, 50, 100)) == [10, 25, 30]
    assert some.percentiles_from(11, (50,)) == [30]
    assert some.percentiles_from(31, (50,)) == []
    assert [some.reaching(length) for length in (0, 1, 2, 30, 31)] == [5, 5, 4, 2, 0]


@given(st.lists(st.integers(0, 50), min_size=1), st.floats(0, 100))
def test_counts_give_what_all_the_values_give(values: list[int], percent: float) -> None:
    assert lengths(*values).percentile(percent) == pytest.approx(
        percentile(sorted(values), percent)
    )


def test_the_share_of_the_longest() -> None:
    hundred = Lengths({1: 99, 101: 1})
    assert hundred.longest_ones(1) == (1, pytest.approx(101 / 200))
    assert Lengths({1: 199, 101: 1}).longest_ones(1) == (2, pytest.approx(102 / 300))
    assert Lengths({1: 100, 101: 1}).longest_ones(1) == (2, pytest.approx(102 / 201))


def test_of_a_few_the_longest_percent_is_one() -> None:
    assert lengths(1, 3).longest_ones(1) == (1, 0.75)


def test_no_tokens_have_no_shares() -> None:
    assert lengths(0, 0).longest_ones(1) == (1, None)


def test_short_ones_have_a_bin_each() -> None:
    assert lengths(2, 4, 4).bins() == [
        Bin(low=2, high=2, count=1), Bin(low=3, high=3, count=0), Bin(low=4, high=4, count=2),
    ]  # fmt: skip


def test_bins_grow_and_leave_no_gap() -> None:
    found = lengths(0, 1, 4, 5, 9, 10, 49, 50, 999, 1000).bins()
    assert [(one.low, one.high, one.count) for one in found] == [
        (0, 0, 1), (1, 1, 1), (2, 4, 1), (5, 9, 2), (10, 19, 1), (20, 49, 1), (50, 99, 1),
        (100, 199, 0), (200, 499, 0), (500, 999, 1), (1000, 1999, 1),
    ]  # fmt: skip


@given(st.lists(st.integers(0, 300_000), min_size=1))
def test_every_length_is_in_one_bin(values: list[int]) -> None:
    found = lengths(*values).bins()
    assert sum(one.count for one in found) == len(values)
    assert found[0].count and found[-1].count
    assert all(a.high + 1 == b.low for a, b in zip(found, found[1:], strict=False))
    for one in found:
        assert one.count == sum(one.low <= value <= one.high for value in values)
