"""Distributions that are kept in part, against the whole ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, rel_entr

from nextok.lab.likely_tokens import likely_tokens


def rows(seed: int, *, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Logits as models have them, and the same with an error on each."""
    draw = np.random.default_rng(seed)
    row = (3 * draw.standard_normal(2000)).astype(np.float32)
    return row, (row + noise * draw.standard_normal(2000)).astype(np.float32)


def whole_divergence(row: np.ndarray, other: np.ndarray) -> float:
    probabilities = [np.exp(log_softmax(one.astype(float))) for one in (row, other)]
    return float(np.sum(rel_entr(*probabilities)))


@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_all_tokens_kept_give_the_divergence_itself(noise: float) -> None:
    row, other = rows(1, noise=noise)
    found = likely_tokens(row, 2000).divergence(other)
    assert found == pytest.approx(whole_divergence(row, other), rel=1e-4)


def test_a_part_gives_a_little_less_and_never_more() -> None:
    row, other = rows(2, noise=0.3)
    kept = likely_tokens(row, 500)
    whole = whole_divergence(row, other)
    assert 0 < kept.rest < 0.1
    assert (1 - 2 * kept.rest) * whole < kept.divergence(other) < whole


@pytest.mark.parametrize("most", [1, 300, 2000])
def test_nothing_is_at_a_distance_from_itself(most: int) -> None:
    row, _ = rows(3, noise=0)
    assert likely_tokens(row, most).divergence(row) == 0


def test_the_likeliest_come_first_and_equals_by_their_ids() -> None:
    row = np.array([0, 2, 5, 2, 1], dtype=np.float32)
    assert list(likely_tokens(row, 4).ids) == [2, 1, 3, 4]


def test_the_margin_is_the_lead_of_the_first() -> None:
    row = np.log(np.array([0.2, 0.7, 0.1], dtype=np.float32))
    assert likely_tokens(row, 3).margin == pytest.approx(0.5, abs=1e-6)


def test_a_probability_that_underflows_is_no_error() -> None:
    row = np.array([0, 0, 0], dtype=np.float32)
    sure = np.array([1000, 0, 0], dtype=np.float32)
    assert likely_tokens(row, 1).divergence(sure) == pytest.approx(460, rel=0.01)
    assert likely_tokens(row, 3).divergence(sure) == pytest.approx(2 / 3 * 1000, rel=0.01)
