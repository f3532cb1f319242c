"""What the figures of abandoned requests mean, in three sentences. Knows figures only."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.lab.abandonment_data import Abandonment, Departure
from nextok.lab.numbers import counted, percent
from nextok.lab.slots import Served


def abandonment_sentences(found: Abandonment, departures: Sequence[Departure]) -> tuple[str, ...]:
    """What is wasted and gained, what that does to the queue, and what was really made."""
    said = (_waste(found), _queue(found))
    return (*said, _real(departures)) if departures else said


def _waste(found: Abandonment) -> str:
    service, deaf = found.service, found.both.without
    return (
        f"With {percent(service.abandoned_share)} of {counted(len(service.lengths), 'request')} "
        f"abandoned at a random token, a service that does not notice computes "
        f"{deaf.wasted_seconds:,.0f} of {deaf.busy_seconds:,.0f} s "
        f"({percent(deaf.wasted_seconds / deaf.busy_seconds, 1)}) for nobody; one whose abort "
        f"reaches the slot serves {percent(service.capacity_gained, 1)} more requests."
    )


def _queue(found: Abandonment) -> str:
    load = found.service.load(found.rate)
    return (
        f"With {counted(found.service.slots, 'slot')} {percent(load, 0)} loaded, the queueing "
        f"delay (p50 and p95) is {_delays(found.both.without)} without abort propagation and "
        f"{_delays(found.both.propagated)} with it."
    )


def _delays(one: Served) -> str:
    return f"{_said(one.wait(50))} and {_said(one.wait(95))}"


def _real(departures: Sequence[Departure]) -> str:
    """The real command: at most, in all, and against what it would have made."""
    wasted = [one.wasted_tokens for one in departures]
    unheeded = sum(one.unheeded_tokens for one in departures)
    slowest = max(one.left.seconds_to_exit or 0.0 for one in departures)
    made = f"{_tokens(sum(wasted))} after the close"
    if sum(wasted):
        made += f" (at most {max(wasted)} in one)"
    return (
        f"In {counted(len(departures), 'real generation')} whose reader closed the pipe, "
        f"nextok made {made}, where running to the end makes {unheeded:,}; its process was "
        f"gone within {_said(slowest)}."
    )


def _tokens(count: int) -> str:
    return counted(count, "token") if count else "no token"


def _said(seconds: float) -> str:
    """With as many digits as tell something."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:,.0f} s"
