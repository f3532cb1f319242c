"""Intervals from resamples: of the width that theory gives, the same for the same seed."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from nextok.lab.bootstrap import Interval, interval, resampled


def test_the_interval_of_a_mean_is_as_wide_as_theory_says() -> None:
    tokens = np.random.default_rng(1).normal(100, 20, 400).round().astype(int).tolist()
    draws = resampled(Counter(tokens), 2000, np.random.default_rng(2))
    low, high = interval([one.total / one.count for one in draws])
    mean, error = float(np.mean(tokens)), float(np.std(tokens)) / math.sqrt(400)
    assert low == pytest.approx(mean - 1.96 * error, abs=0.15)
    assert high == pytest.approx(mean + 1.96 * error, abs=0.15)


def test_each_resample_has_as_many() -> None:
    drawn = list(resampled({3: 5, 8: 2}, 20, np.random.default_rng(1)))
    assert {one.count for one in drawn} == {7}
    assert len({one.total for one in drawn}) > 1


def test_the_same_seed_draws_the_same() -> None:
    totals = [
        [one.total for one in resampled({3: 5, 8: 2}, 9, np.random.default_rng(4))] for _ in "ab"
    ]
    assert totals[0] == totals[1]


def test_ends_are_percentiles() -> None:
    assert interval(list(range(1001))) == pytest.approx(Interval(25.0, 975.0))
