"""What the figures of abandoned requests mean, in three sentences. Knows figures only."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.lab.abandonment_data import Abandonment, Departure
from nextok.lab.slots import Served


def abandonment_sentences(found: Abandonment, departures: Sequence[Departure]) -> tuple[str, ...]:
    """What is wasted and gained, what that does to the queue, and what was really made."""
    said = (_waste(found), _queue(found))
    return (*said, _real(departures)) if departures else said


def _waste(found: Abandonment) -> str:
    service, deaf = found.service, found.both.without
    return (
        f"With {service.abandoned_share:.0%} of {len(service.lengths):,} requests abandoned at a "
        f"random token, a service that does not notice computes {deaf.wasted_seconds:,.0f} of "
        f"{deaf.busy_seconds:,.0f} s ({deaf.wasted_seconds / deaf.busy_seconds:.1%}) for nobody; "
        f"one whose abort reaches the slot serves {service.capacity_gained:.1%} more requests."
    )


def _queue(found: Abandonment) -> str:
    load = found.service.load(found.rate)
    return (
        f"With {found.service.slots} slots {load:.0%} loaded the queueing delay is "
        f"{_delays(found.both.without)} without abort propagation and "
        f"{_delays(found.both.propagated)} with it (p50 and p95)."
    )


def _delays(one: Served) -> str:
    return f"{_said(one.wait(50))} and {_said(one.wait(95))}"


def _real(departures: Sequence[Departure]) -> str:
    """The real command: at most, in all, and against what it would have made."""
    wasted = [one.wasted_tokens for one in departures]
    unheeded = sum(one.unheeded_tokens for one in departures)
    made = "1 token" if sum(wasted) == 1 else f"{sum(wasted):,} tokens"
    slowest = max(one.left.seconds_to_exit or 0.0 for one in departures)
    return (
        f"In {len(departures)} real generations whose reader closed the pipe, nextok made {made} "
        f"after the close (at most {max(wasted)} in one), where running to the end makes "
        f"{unheeded:,}; its process was gone within {_said(slowest)}."
    )


def _said(seconds: float) -> str:
    """With as many digits as tell something."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:,.0f} s"
