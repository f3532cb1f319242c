"""How long a run may take, and when which of its limits is reached."""

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nextok.cli.settings import StopSettings
from nextok.generation.finish import FinishReason


class Deadlines(NamedTuple):
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


class Alarm:
    """The limits against the clock. Told by the main thread, asked by the watcher."""

    def __init__(self, limits: Deadlines, *, started: float, clock: Callable[[], float]) -> None:
        """started: the beginning of the run, in `clock`'s seconds."""
        self.has_token = False
        self.engine_since: float | None = None
        """Since when the engine has been at work without a sign of life."""
        self._limits = limits
        self._started = started
        self._clock = clock
        self._is_excused = False

    @contextlib.contextmanager
    def excused(self) -> Iterator[None]:
        """Time that no limit counts: a download's."""
        began = self._clock()
        self._is_excused = True
        try:
            yield
        finally:
            self._started += self._clock() - began
            self._is_excused = False

    def switch_off(self) -> None:
        """There are no limits any more."""
        self._limits = Deadlines()

    def due(self) -> Iterator[tuple[float, FinishReason]]:
        """When which limit is reached, as things stand."""
        if self._is_excused:
            return
        limits, since = self._limits, self.engine_since
        if limits.total is not None:
            yield self._started + limits.total, FinishReason.TIMEOUT
        if limits.first_token is not None and not self.has_token:
            yield self._started + limits.first_token, FinishReason.TIMEOUT
        if limits.stall is not None and since is not None:
            yield since + limits.stall, FinishReason.STALLED

    def looks(self) -> Iterator[float]:
        """When to look at the clock again."""
        yield from (at for at, _ in self.due())
        if self._limits.stall is not None:  # the engine may start without waking anybody
            yield self._clock() + self._limits.stall / 4
