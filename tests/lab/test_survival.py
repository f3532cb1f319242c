"""Survival curves against ones computed by hand."""

from __future__ import annotations

import pytest

from nextok.lab.survival import Spell, after, first_departure, geometric, survival


def test_the_curve_of_kaplan_and_meier() -> None:
    """Four texts: one ends with its third token, two with their fourth, one is cut after two."""
    spells = [
        Spell(steps=6, ended=2),
        Spell(steps=6, ended=3),
        Spell(steps=4, ended=3),
        Spell(steps=2),
    ]
    curve = survival(spells)
    assert [point.steps for point in curve] == [0, 1, 2, 3, 4]
    assert [point.at_risk for point in curve] == [4, 4, 4, 3, 2]
    assert [point.share for point in curve] == pytest.approx([1, 1, 1, 2 / 3, 0])


def test_an_interval_is_greenwoods_on_the_log_log_scale() -> None:
    """10 watched, 5 end at once: variance of log(-log S) = 0.1 / ln(0.5)^2."""
    spells = [Spell(steps=3, ended=0)] * 5 + [Spell(steps=3)] * 5
    point = survival(spells)[1]
    assert (point.low, point.high) == pytest.approx((0.1836, 0.7532), abs=1e-4)


def test_where_nothing_ends_the_interval_is_the_exact_bound() -> None:
    point = survival([Spell(steps=2)] * 24)[2]
    assert point.high == 1
    assert point.low == pytest.approx(0.8575, abs=1e-4)  # 0.025^(1/24)


def test_what_has_ended_stays_ended() -> None:
    curve = survival([Spell(steps=50, ended=1), Spell(steps=50, ended=4)])
    late = after(curve, 1000)
    assert late is not None
    assert (late.steps, late.share) == (1000, 0)
    assert late.high == pytest.approx(0.8419, abs=1e-4)  # 1 − 0.025^(1/2)


def test_what_was_not_watched_is_not_known() -> None:
    assert after(survival([Spell(steps=5)]), 6) is None


def test_equal_chances_leave_a_geometric_curve() -> None:
    assert geometric(0.02, 100) == pytest.approx(0.13262, abs=1e-5)
    assert geometric(1.0, 0) == 1


def test_a_departure_is_where_the_geometric_curve_leaves_the_interval_for_good() -> None:
    lasting = survival([Spell(steps=40)] * 30)
    departure = first_departure(lasting, 0.02)
    assert departure is not None  # the bound of 30 equal outcomes is 0.884: 0.98^7 is below it
    assert departure.steps == 7
    assert first_departure(lasting, 0.0) is None


def test_a_crossing_that_is_taken_back_is_no_departure() -> None:
    """None ends for long, then 22 of 30 at once: there a constant chance has come down, too."""
    spells = [Spell(steps=20, ended=15)] * 22 + [Spell(steps=20)] * 8
    curve, chance = survival(spells), 1 - (8 / 30) ** (1 / 16)
    early = first_departure(curve[:11], chance)
    assert early is not None
    assert early.steps == 2
    assert first_departure(curve, chance) is None
