"""A service whose capacity can be computed by hand."""

from __future__ import annotations

import pytest

from nextok.lab.service import Service
from nextok.lab.slots import SlotSpeed
from nextok.lab.workload import Lengths


@pytest.fixture
def service() -> Service:
    """Each answer has one token and takes a second, half of them are given up before it."""
    return Service(
        slots=2,
        speed=SlotSpeed(prefill_tokens_per_second=1e12, decode_seconds=1.0),
        arrivals=[float(one) for one in range(100)],
        lengths=[Lengths(1, 1)] * 100,
        abandoned_share=0.5,
        seed=1,
    )


def test_capacity_is_gained_by_what_is_not_computed(service: Service) -> None:
    assert service.seconds_per_request(propagates=False) == pytest.approx(0.5)
    assert service.seconds_per_request(propagates=True) == pytest.approx(0.25)
    assert service.capacity_gained == pytest.approx(1.0)
    assert service.with_share(0.0).capacity_gained == 0
    assert service.with_share(0.2).capacity_gained == pytest.approx(0.25)


def test_a_load_is_a_rate_and_back(service: Service) -> None:
    assert service.rate(0.9) == pytest.approx(1.8)
    assert service.load(1.8) == pytest.approx(0.9)


def test_the_same_requests_come_to_both(service: Service) -> None:
    both = service.serve(service.rate(1.0))
    assert both.without.busy_seconds == pytest.approx(100)
    assert both.without.wasted_seconds == pytest.approx(50)
    assert both.propagated.busy_seconds == pytest.approx(50)
    assert both.propagated.wait(95) <= both.without.wait(95)
    assert [one.abandoned_after for one in service.requests(1)] == [
        one.abandoned_after for one in service.requests(7)
    ]
