"""A queue before a few slots, simulated event by event: who waits how long, and what is computed.

First come, first served. A slot reads a prompt and makes tokens at the speed it is told, whatever
the others do. Knows nothing of where requests and speeds come from.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nextok.generation.errors import OutputError
from nextok.generation.timings import percentile
from nextok.lab.workload import Request

if TYPE_CHECKING:
    from simpy import Environment, Resource


@dataclass(frozen=True, kw_only=True)
class SlotSpeed:
    """How long one slot takes, all of them being at work."""

    prefill_tokens_per_second: float
    decode_seconds: float
    """For each token."""

    def seconds(self, request: Request, *, propagates: bool) -> float:
        """The slot is taken for so long."""
        read = request.lengths.prompt / self.prefill_tokens_per_second
        return read + request.tokens(propagates=propagates) * self.decode_seconds

    def wasted_seconds(self, request: Request, *, propagates: bool) -> float:
        """Those of them after the reader went away."""
        if request.abandoned_after is None:
            return 0.0
        unread = request.tokens(propagates=propagates) - request.abandoned_after
        return unread * self.decode_seconds


@dataclass(frozen=True, kw_only=True)
class Served:
    """What came of a simulation. Seconds of the simulated time."""

    waits: Sequence[float]
    """Of each request, from its arrival until a slot took it, in the order of arrival."""
    busy_seconds: float
    """Of all slots together."""
    wasted_seconds: float
    ends_at: float

    def wait(self, percent: float) -> float:
        """A percentile of the waits."""
        return percentile(sorted(self.waits), percent)


def simulate(
    requests: Sequence[Request], slots: int, speed: SlotSpeed, *, propagates: bool
) -> Served:
    """Serve them all. propagates: whether a slot hears that its reader went away.

    OutputError without simpy.
    """
    try:
        import simpy
    except ImportError as error:
        raise OutputError("this simulation needs simpy: pip install 'nextok[lab]'") from error
    environment = simpy.Environment()
    resource = simpy.Resource(environment, capacity=slots)
    waits = [0.0] * len(requests)
    for place, request in enumerate(requests):
        seconds = speed.seconds(request, propagates=propagates)
        environment.process(_served(environment, resource, request.arrival, seconds, waits, place))
    environment.run()
    return Served(
        waits=waits,
        busy_seconds=sum(speed.seconds(one, propagates=propagates) for one in requests),
        wasted_seconds=sum(speed.wasted_seconds(one, propagates=propagates) for one in requests),
        ends_at=float(environment.now),
    )


def _served(
    environment: Environment,
    resource: Resource,
    arrival: float,
    seconds: float,
    waits: list[float],
    place: int,
) -> Generator[Any, Any, None]:
    """One request: it comes, waits for a slot, and holds it for so long."""
    yield environment.timeout(arrival)
    with resource.request() as turn:
        yield turn
        waits[place] = environment.now - arrival
        yield environment.timeout(seconds)
