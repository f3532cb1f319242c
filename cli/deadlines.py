"""How long a run may take."""

from __future__ import annotations

from dataclasses import dataclass

from nextok.cli.settings import StopSettings


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Seconds; the first two from process start, the last of engine time. None: no limit."""

    total: float | None = None
    first_token: float | None = None
    stall: float | None = None


def deadlines(stops: StopSettings) -> Deadlines:
    """The limits the user gave, for the watcher."""
    return Deadlines(
        total=stops.timeout,
        first_token=stops.first_token_timeout,
        stall=stops.stall_timeout,
    )
