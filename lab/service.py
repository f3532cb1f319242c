"""A service with abandoned requests, simulated twice: with and without abort propagation.

The same requests come to both. Knows no model: only how fast its slots are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nextok.lab.slots import Served, SlotSpeed, simulate
from nextok.lab.workload import Lengths, Request, with_readers

LOADS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True, kw_only=True)
class Service:
    """Slots, and what comes to them."""

    slots: int
    speed: SlotSpeed
    arrivals: Sequence[float]
    """One a second on average."""
    lengths: Sequence[Lengths]
    abandoned_share: float
    seed: int

    def requests(self, rate: float = 1.0) -> list[Request]:
        """So many a second. Those that are abandoned are always the same."""
        arrivals = [one / rate for one in self.arrivals]
        draw = random.Random(self.seed)
        return with_readers(arrivals, self.lengths, self.abandoned_share, draw)

    def rate(self, load: float) -> float:
        """Requests a second that keep the slots busy for such a part of the time, if every answer
        is made to its end."""
        return load / self.seconds_per_request(propagates=False)

    def load(self, rate: float) -> float:
        """The inverse of `rate`."""
        return rate * self.seconds_per_request(propagates=False)

    def seconds_per_request(self, *, propagates: bool) -> float:
        """Between two requests when all slots are busy."""
        requests = self.requests()
        total = sum(self.speed.seconds(one, propagates=propagates) for one in requests)
        return total / len(requests) / self.slots

    @property
    def capacity_gained(self) -> float:
        """How many more requests the same slots can serve if an abort reaches them: 0.05 is 5 %."""
        without = self.seconds_per_request(propagates=False)
        return without / self.seconds_per_request(propagates=True) - 1

    def with_share(self, share: float) -> Service:
        """The same with more or fewer abandoned requests."""
        return replace(self, abandoned_share=share)

    def serve(self, rate: float) -> Both:
        """Simulate so many requests a second, twice. OutputError without simpy."""
        requests = self.requests(rate)
        deaf, hearing = (
            simulate(requests, self.slots, self.speed, propagates=propagates)
            for propagates in (False, True)
        )
        return Both(without=deaf, propagated=hearing)


@dataclass(frozen=True, kw_only=True)
class Both:
    """What comes of the same requests."""

    without: Served
    """No slot hears that a reader went away."""
    propagated: Served
    """Every slot does."""
