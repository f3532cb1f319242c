"""Axes: positions, the values that are named, and what falls between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.lab.axis import Axis, histogram, labels, linear, logarithmic

LINEAR, LOG = Axis(low=10, high=30), Axis(low=1, high=10_000, log=True)


def test_a_value_stands_where_its_share_of_the_range_is() -> None:
    assert [LINEAR.position(value) for value in (10, 15, 30)] == [0, 0.25, 1]
    assert [LOG.position(value) for value in (1, 10, 100, 10_000)] == [0, 0.25, 0.5, 1]


def test_what_lies_outside_stands_at_the_edge() -> None:
    assert [LOG.position(value) for value in (0, -5, 1e9)] == [0, 0, 1]


@given(st.floats(0, 1), st.booleans())
def test_values_and_positions_are_each_others_inverse(position: float, log: bool) -> None:
    axis = LOG if log else LINEAR
    assert axis.position(axis.value(position)) == pytest.approx(position, abs=1e-9)


@pytest.mark.parametrize(
    ("axis", "most", "named"),
    [
        (Axis(low=18, high=28), 6, "18 20 22 24 26 28"),
        (Axis(low=18, high=28), 3, "20 25"),
        (Axis(low=0, high=45), 2, "0 20 40"),
        (Axis(low=0, high=0.37), 4, "0.0 0.1 0.2 0.3"),
        (Axis(low=0, high=2.1, whole=True), 9, "0 1 2"),
        (Axis(low=0, high=20_600, whole=True), 5, "0 5,000 10,000 15,000 20,000"),
        (Axis(low=18, high=300, log=True), 8, "20 50 100 200"),
        (Axis(low=18, high=300, log=True), 3, "30 100 300"),
        (Axis(low=0.01, high=5, log=True), 9, "0.01 0.02 0.05 0.1 0.2 0.5 1 2 5"),
        (Axis(low=0.001, high=10_000, log=True), 3, "0.001 1 1,000"),
        (Axis(low=19, high=21, log=True), 3, "19 20 21"),
    ],
)
def test_round_values_are_named(axis: Axis, most: int, named: str) -> None:
    assert " ".join(labels(axis.ticks(most))) == named


@given(
    st.floats(1e-3, 1e6),
    st.floats(1.001, 1e6),
    st.integers(2, 12),
    st.booleans(),
)
def test_ticks_are_few_inside_and_told_apart(
    low: float, ratio: float, most: int, log: bool
) -> None:
    axis = Axis(low=low, high=low * ratio, log=log)
    ticks = axis.ticks(most)
    assert 1 <= len(ticks) <= max(most, 8)
    assert all(low * (1 - 1e-6) <= tick <= low * ratio * (1 + 1e-6) for tick in ticks)
    assert len(set(labels(ticks))) == len(ticks)


def test_an_axis_holds_its_values_with_some_air() -> None:
    axis = linear([20.0, 22.0])
    assert (axis.low, axis.high, axis.log) == (pytest.approx(19.8), pytest.approx(22.2), False)
    assert linear([1.0, 22.0]).low == 0


def test_equal_values_have_an_axis_too() -> None:
    for value in (0.0, 5.0):
        axis = linear([value, value])
        assert axis.low <= value < axis.high


def test_zero_stands_at_the_foot_of_a_logarithmic_axis() -> None:
    axis = logarithmic([0.0, 1.0, 100.0])
    assert 0.5 < axis.low < 1 and 100 < axis.high < 200
    assert axis.position(0.0) == 0


def test_a_histogram_counts_each_value_once() -> None:
    assert histogram([10, 12, 15, 19.9, 30], LINEAR, 4) == [2, 2, 0, 1]
    assert histogram([1, 5, 10, 9_999, 10_000], LOG, 4) == [2, 1, 0, 2]
