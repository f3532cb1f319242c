"""What was found of abandoned requests, as JSON can hold it.

Whatever depends on how fast the machine is stands among the times.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from nextok.lab.findings import COMPLETE, TIMES
from nextok.lab.leaving_reader import Visit
from nextok.lab.service import Both, Service
from nextok.lab.slots import Served


@dataclass(frozen=True, kw_only=True)
class Departure:
    """One generation, with a reader who stayed and with one who left."""

    leave_after: int
    """Tokens, each of which was read."""
    stayed: Visit
    left: Visit

    @property
    def wasted_tokens(self) -> int:
        """Made after the reader had gone."""
        return self.left.tokens_after_close or 0

    @property
    def unheeded_tokens(self) -> int:
        """Those that would have been made if nobody had heard of it."""
        return self.stayed.tokens_made - self.leave_after

    def data(self) -> dict[str, object]:
        """Tokens are facts of the seed; what came after the close is one of the clock."""
        return {"tokens_to_the_end": self.stayed.tokens_made, "left_after": self.leave_after}

    def times(self) -> dict[str, object]:
        """What the clock had a say in."""
        return {
            "wasted_tokens": self.wasted_tokens,
            "exit_code": self.left.exit_code,
            "seconds_to_exit": _seconds(self.left.seconds_to_exit or 0.0),
            "cpu_seconds": _seconds(self.left.cpu_seconds),
            "cpu_seconds_to_the_end": _seconds(self.stayed.cpu_seconds),
        }


@dataclass(frozen=True, kw_only=True)
class Abandonment:
    """What was simulated."""

    service: Service
    rate: float
    """Requests a second."""
    both: Both
    by_load: Sequence[tuple[float, Both]]
    gained_by_share: Sequence[tuple[float, float]]

    def data(
        self, departures: Sequence[Departure], workload: str, complete: bool
    ) -> dict[str, object]:
        """All of it, with the real generations."""
        return {
            COMPLETE: complete,
            "simulation": self._workload(workload),
            "real": [one.data() for one in departures],
            TIMES: {
                "simulation": self._simulated(),
                "real": [one.times() for one in departures],
            },
        }

    def _workload(self, workload: str) -> dict[str, object]:
        requests = self.service.requests()
        abandoned = [one for one in requests if one.abandoned_after is not None]
        return {
            "workload": workload,
            "requests": len(requests),
            "abandoned": len(abandoned),
            "abandoned_share": self.service.abandoned_share,
            "slots": self.service.slots,
            "seed": self.service.seed,
            "mean_prompt_tokens": _mean([one.lengths.prompt for one in requests]),
            "mean_output_tokens": _mean([one.lengths.output for one in requests]),
            "tokens": sum(one.tokens(propagates=False) for one in requests),
            "tokens_read": sum(one.tokens(propagates=True) for one in requests),
        }

    def _simulated(self) -> dict[str, object]:
        service, speed = self.service, self.service.speed
        return {
            "prefill_tokens_per_second": _seconds(speed.prefill_tokens_per_second),
            "decode_seconds_per_token": round(speed.decode_seconds, 6),
            "requests_per_second": round(self.rate, 6),
            "load": round(service.load(self.rate), 6),
            "capacity_gained": round(service.capacity_gained, 6),
            "capacity_gained_by_share": [[share, round(gain, 6)]
                                         for share, gain in self.gained_by_share],
            "without_propagation": _served(self.both.without),
            "with_propagation": _served(self.both.propagated),
            "delay_by_load": [
                {"load": load, "without_propagation": _delays(both.without),
                 "with_propagation": _delays(both.propagated)}
                for load, both in self.by_load
            ],
        }  # fmt: skip


def _served(one: Served) -> dict[str, object]:
    return {
        "busy_seconds": _seconds(one.busy_seconds),
        "wasted_seconds": _seconds(one.wasted_seconds),
        "wasted_share": round(one.wasted_seconds / one.busy_seconds, 6),
        **_delays(one),
    }


def _delays(one: Served) -> dict[str, float]:
    return {f"delay_p{percent}_seconds": _seconds(one.wait(percent)) for percent in (50, 95)}


def _seconds(value: float) -> float:
    return round(value, 4)


def _mean(values: Sequence[int]) -> float:
    return round(statistics.fmean(values), 3)
