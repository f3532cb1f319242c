"""The simulation against cases computed by hand."""

from __future__ import annotations

import pytest

from nextok.lab.slots import SlotSpeed, simulate
from nextok.lab.workload import Lengths, Request

SPEED = SlotSpeed(prefill_tokens_per_second=100, decode_seconds=0.1)
"""100 prompt tokens take a second, and so do 10 tokens of an answer."""
THREE = [
    Request(arrival=0, lengths=Lengths(100, 40), abandoned_after=10),
    Request(arrival=1, lengths=Lengths(200, 10)),
    Request(arrival=2, lengths=Lengths(100, 20)),
]
"""They take 5 s (2 s if the abort is heard), 3 s and 3 s."""


def test_three_requests_before_one_slot_that_does_not_hear() -> None:
    served = simulate(THREE, 1, SPEED, propagates=False)
    assert served.waits == pytest.approx([0, 4, 6])
    assert served.busy_seconds == pytest.approx(11)
    assert served.wasted_seconds == pytest.approx(3)
    assert served.ends_at == pytest.approx(11)


def test_three_requests_before_one_slot_that_hears() -> None:
    served = simulate(THREE, 1, SPEED, propagates=True)
    assert served.waits == pytest.approx([0, 1, 3])
    assert served.busy_seconds == pytest.approx(8)
    assert served.wasted_seconds == 0
    assert served.ends_at == pytest.approx(8)


def test_a_second_slot_takes_the_second_request() -> None:
    served = simulate(THREE, 2, SPEED, propagates=False)
    assert served.waits == pytest.approx([0, 0, 2])  # the third has the slot that is free at 4
    assert served.ends_at == pytest.approx(7)


def test_first_come_first_served_whatever_the_order_of_the_list() -> None:
    late, early = Request(arrival=3, lengths=Lengths(100, 1)), THREE[1]
    served = simulate([late, early], 1, SPEED, propagates=True)
    assert served.waits == pytest.approx([1, 0])


def test_percentiles_of_the_waits() -> None:
    served = simulate(THREE, 1, SPEED, propagates=False)
    assert served.wait(50) == pytest.approx(4)
    assert served.wait(95) == pytest.approx(5.8)
