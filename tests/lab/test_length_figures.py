"""Figures of lengths that were counted by hand: percentiles, shares, ratios, caps."""

from __future__ import annotations

import pytest

from nextok.lab.length_costs import capped, caps, cheapest
from nextok.lab.length_figures import cost_ratio, length_figures

TOKENS = [10, 20, 30, 40, 100]


def test_figures_by_linear_interpolation() -> None:
    seen = length_figures(TOKENS, 50, 1)
    assert (seen.count, seen.mean, seen.p50, seen.max) == (5, 40.0, 30.0, 100)
    assert seen.p95 == pytest.approx(40 + 0.8 * 60)
    assert seen.p99 == pytest.approx(40 + 0.96 * 60)
    assert (seen.top1_count, seen.top1_share) == (1, 0.5)


def test_the_longest_percent_of_many() -> None:
    seen = length_figures([10] * 297 + [1000] * 3, 50, 1)
    assert (seen.top1_count, seen.top1_share) == (3, pytest.approx(3000 / 5970))


def test_intervals_hold_their_figures() -> None:
    seen = length_figures(TOKENS * 20, 500, 1)
    assert set(seen.intervals) == {"mean", "p50", "p95", "p99", "top1_share"}
    for name, (low, high) in seen.intervals.items():
        assert low <= getattr(seen, name) <= high, name
    assert seen.intervals["mean"].low < seen.mean < seen.intervals["mean"].high


def test_a_workload_of_2000_tokens_costs_twenty_times_one_of_100() -> None:
    cost = cost_ratio([50, 150] * 50, [1000, 3000] * 50, "long", 500, 1)
    assert (cost.mean, cost.ratio, cost.source) == (2000.0, 20.0, "long")
    assert 16 < cost.interval.low < 20 < cost.interval.high < 24


def test_answers_without_tokens() -> None:
    assert length_figures([0, 0, 0], 5, 1).top1_share == 0.0
    assert cost_ratio([0, 0], [1, 2], "other", 5, 1).ratio == 0.0


def test_a_cap_by_hand() -> None:
    cap = capped(TOKENS, 30)
    assert (cap.cut, cap.cut_share) == (2, 0.4)
    assert cap.saved_share == pytest.approx((10 + 70) / 200)


def test_an_answer_as_long_as_the_cap_is_not_cut() -> None:
    assert capped(TOKENS, 100).cut == 0


def test_round_caps_below_the_longest() -> None:
    assert [one.tokens for one in caps([5, 100])] == [8, 12, 16, 24, 32, 48, 64, 96]
    assert caps([3, 8]) == []


def test_the_cheapest_cap_that_cuts_few() -> None:
    found = caps(TOKENS)
    cap = cheapest(found, 0.4)
    assert cap is not None and cap.tokens == 32
    assert cheapest(found, 0.1) is None
