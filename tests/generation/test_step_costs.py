"""What passes cost, as it is learned from what they took."""

from __future__ import annotations

import pytest

from nextok.generation.step_costs import AssumedCosts, MeasuredCosts


def measured(*passes: tuple[int, float]) -> MeasuredCosts:
    costs = MeasuredCosts()
    for rows, seconds in [(1, 0.01)] * 4 + [*passes]:
        costs.passed(rows, seconds)
    return costs


def test_a_plain_step_is_known_after_a_few() -> None:
    costs = MeasuredCosts()
    assert [costs.passed(1, 0.01) or costs.is_known for _ in range(4)] == [False, False, True, True]
    assert costs.explored == 1


def test_costs_are_in_plain_steps() -> None:
    costs = measured((4, 0.02), (8, 0.03))
    assert costs.rows(1) == 1
    assert costs.rows(4) == pytest.approx(2)
    assert costs.rows(8) == pytest.approx(3)
    assert costs.explored == 8


def test_between_the_measured_it_is_a_straight_line_and_so_beyond() -> None:
    costs = measured((8, 0.03), (4, 0.02))
    assert costs.rows(2) == pytest.approx(1 + 1 / 3)
    assert costs.rows(6) == pytest.approx(2.5)
    assert costs.rows(15) == pytest.approx(5)


def test_what_was_never_measured_is_hoped_to_be_cheap() -> None:
    assert measured().rows(5) == 2


def test_an_outlier_changes_little() -> None:
    costs = measured(*[(4, 0.02)] * 4, (4, 5.0), (1, 3.0))
    assert 1.5 < costs.rows(4) < 2.5
    costs = measured((4, 5.0))
    assert costs.rows(4) <= 1.2 * 4


def test_it_follows_what_changes() -> None:
    costs = measured((4, 0.02), *[(4, 0.03)] * 40)
    assert costs.rows(4) == pytest.approx(3, rel=0.05)


def test_what_slows_all_passes_alike_changes_nothing() -> None:
    costs = measured((4, 0.02), *[(1, 0.05)] * 30)
    assert costs.rows(4) == pytest.approx(2)


def test_guesses_cost_what_reading_and_guessing_take() -> None:
    costs = measured()
    assert costs.drafting == 0
    costs.drafted(5, 0.01)
    assert costs.drafting == pytest.approx(0.2)


def test_a_clock_that_stands_still_does_no_harm() -> None:
    costs = MeasuredCosts()
    for rows in (1, 2, 1, 1, 4):
        costs.passed(rows, 0.0)
        costs.drafted(1, 0.0)
    assert costs.is_known
    assert (costs.rows(1), costs.drafting) == (1, 0)


def test_assumed_costs_never_change() -> None:
    costs = AssumedCosts(drafting=0.3, row=0.5)
    costs.passed(4, 100.0)
    costs.drafted(1, 100.0)
    assert (costs.rows(1), costs.rows(5), costs.drafting) == (1, 3, 0.3)
    assert costs.is_known and not costs.learns
