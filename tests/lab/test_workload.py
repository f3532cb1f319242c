"""Requests: when they come, how long they are, and which are abandoned."""

from __future__ import annotations

import random
import statistics

import pytest

from nextok.lab.workload import (
    Lengths,
    Request,
    chat_lengths,
    drawn_lengths,
    poisson_arrivals,
    unit_arrivals,
    with_readers,
)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.333, 1.0])
def test_the_abandoned_share_is_what_was_asked_for(share: float) -> None:
    lengths = [Lengths(10, 50)] * 1000
    requests = with_readers([0.0] * 1000, lengths, share, random.Random(1))
    abandoned = [one for one in requests if one.abandoned_after is not None]
    assert len(abandoned) == 1000 * share


def test_readers_leave_at_any_token_of_the_answer() -> None:
    requests = with_readers([0.0] * 2000, [Lengths(1, 4)] * 2000, 1.0, random.Random(1))
    left = [one.abandoned_after for one in requests]
    counts = [left.count(tokens) for tokens in range(4)]
    assert sum(counts) == 2000
    assert min(counts) > 400


def test_a_larger_share_takes_the_same_readers_along() -> None:
    few, many = (
        with_readers([0.0] * 100, [Lengths(1, 9)] * 100, share, random.Random(4))
        for share in (0.2, 0.5)
    )
    pairs = zip(few, many, strict=True)
    assert all(one.abandoned_after in (None, other.abandoned_after) for one, other in pairs)


def test_tokens_are_made_for_a_reader_or_for_nobody() -> None:
    request = Request(arrival=0, lengths=Lengths(5, 80), abandoned_after=30)
    assert request.tokens(propagates=False) == 80
    assert request.tokens(propagates=True) == 30
    stays = Request(arrival=0, lengths=Lengths(5, 80))
    assert stays.tokens(propagates=True) == 80


def test_arrivals_are_one_a_second_and_know_nothing_of_each_other() -> None:
    arrivals = poisson_arrivals(20_000, random.Random(1))
    gaps = [after - before for before, after in zip(arrivals, arrivals[1:], strict=False)]
    assert statistics.fmean(gaps) == pytest.approx(1, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(1, rel=0.03)  # as for exponential gaps


def test_recorded_arrivals_keep_their_shape() -> None:
    assert unit_arrivals([100.0, 100.5, 103.0]) == pytest.approx([0, 1 / 3, 2])
    assert unit_arrivals([5.0, 5.0]) == [0, 0]


def test_lengths_are_those_of_a_chat_service() -> None:
    lengths = chat_lengths(20_000, random.Random(1))
    outputs = sorted(one.output for one in lengths)
    assert statistics.fmean(outputs) == pytest.approx(211, rel=0.03)
    assert statistics.fmean(one.prompt for one in lengths) == pytest.approx(1155, rel=0.03)
    assert outputs[10_000] == pytest.approx(129, abs=4)
    assert 7 <= outputs[0] <= 12 and 900 <= outputs[-1] <= 1000


def test_recorded_lengths_stay_pairs() -> None:
    known = [Lengths(1, 10), Lengths(2, 20)]
    assert set(drawn_lengths(known, 50, random.Random(1))) == set(known)
