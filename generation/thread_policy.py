"""How many threads the next pass takes, from how long the last ones took.

Threads meet at a barrier after every operation, hundreds of times a token. One that waits for a
CPU, because a neighbour has it, keeps all others waiting, each time for a slice of the scheduler:
a token then takes a hundred times as long, and with one thread less it takes what one thread less
costs. So the count goes down when passes starve and comes back when CPUs are free.

Knows no clock, no engine and no operating system: it is told seconds and asks how many CPUs are
free. Time is the engine's own, the sum of what it was told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SLOW = 4.0
"""Times the best pass of late. Noise of a third stays below; a starving barrier is far above."""
_STRIKES = 2.5
"""Slow passes close together that are no hiccups. Each pass that is not slow takes a fifth off."""
_STARVED = 0.65
"""CPUs that others may take from our threads. Sharing one fairly leaves half; a thread that has
less is queued behind another one of ours."""
_ROOM = 0.35
"""CPUs that may be taken, of those a count needs, when it is chosen for the first time."""
_PROBE_ROOM = 0.2
"""The same, for a higher count that is tried: that must not starve."""
_LOOK_EVERY = 1.0
"""Seconds between looks at the machine while nothing is slow."""
_TRIED = 8
"""Passes after which a higher count has shown what it is worth."""
_BETTER = 0.97
_LONGEST_PATIENCE = 64.0
_BLIND_PATIENCE = 30.0
"""Seconds, times the patience: where CPUs cannot be looked at, a try may cost a starved token."""


class ThreadPolicy:
    """Begins with `most` threads; `threads` is what the next pass should take."""

    def __init__(self, most: int, look: Callable[[], float | None]) -> None:
        """look: CPUs that nobody else used since it was last asked; None when it cannot tell."""
        self.most = most
        self.threads = most
        self._look = look
        self._sees = False
        self._seconds = 0.0
        self._next_look = _LOOK_EVERY
        self._strikes = 0.0
        self._paces: dict[int, _Pace] = {}
        self._trial: _Trial | None = None
        self._patience = 1.0
        self._lowered_at = 0.0
        self._raise_at = 0.0

    def begin(self) -> None:
        """A prompt is about to be read. Depth and neighbours may be others than before."""
        self._change(self.threads)
        free = self._free()
        if free is not None:
            self._change(self._fitting(free + _ROOM))
        elif not self._sees and self._seconds >= self._raise_at:
            self._change(self.most)

    def passed(self, rows: int, seconds: float) -> None:
        """A pass over so many rows has taken so long."""
        self._seconds += seconds
        kind = rows.bit_length()  # a row costs less in a larger batch
        pace = self._paces.get(kind)
        if pace is None:
            pace = self._paces[kind] = _Pace()
        if self._trial is not None:
            self._judge(self._trial, kind, seconds / rows)
        slow = self.threads > 1 and pace.is_slow(seconds / rows)
        if slow:
            self._strikes += 1
        elif self._strikes > 0:
            self._strikes -= 0.2
        if slow or self._seconds >= self._next_look:
            self._look_around(kind)

    def _look_around(self, kind: int) -> None:
        free = self._free()
        if self._starves(free):
            fitting = self.threads // 2 if free is None else self._fitting(free + _ROOM)
            self._lower(min(fitting, self.threads - 1))
        elif free is not None and self._seconds >= self._raise_at and self._trial is None:
            self._try(self._fitting(free + _PROBE_ROOM), kind)

    def _free(self) -> float | None:
        self._next_look = self._seconds + _LOOK_EVERY
        free = self._look()
        self._sees = self._sees or free is not None
        return free

    def _starves(self, free: float | None) -> bool:
        """Whether others have our CPUs for certain, or probably and it shows; or it just shows."""
        if self.threads == 1:
            return False
        if free is not None:
            taken = self.threads - free
            if taken > _STARVED or (taken > _ROOM and self._strikes > 0):
                return True
        return self._strikes >= _STRIKES

    def _lower(self, threads: int) -> None:
        self._change(max(1, threads))
        if self._seconds - self._lowered_at > 4 * self._patience:
            self._patience = 1.0
        wait = self._patience * (1.0 if self._sees else _BLIND_PATIENCE)
        self._lowered_at, self._raise_at = self._seconds, self._seconds + wait
        self._patience = min(2 * self._patience, _LONGEST_PATIENCE)

    def _try(self, threads: int, kind: int) -> None:
        pace = self._paces.get(kind)
        if threads <= self.threads or pace is None or not pace.count:
            return
        trial = _Trial(before=self.threads, usual=pace.usual, kind=kind)
        self._change(threads)
        self._trial = trial

    def _judge(self, trial: _Trial, kind: int, seconds: float) -> None:
        """Keep the better count; a pass that is much worse decides at once."""
        if kind != trial.kind:
            self._trial = None
            return
        trial.passes.append(seconds)
        is_over = len(trial.passes) == _TRIED
        if seconds > 2 * trial.usual or (is_over and not trial.is_better):
            self._lower(trial.before)
        elif is_over:
            self._trial = None

    def _change(self, threads: int) -> None:
        """What was measured was measured with another count."""
        self.threads = threads
        self._paces.clear()
        self._strikes = 0.0
        self._trial = None

    def _fitting(self, free: float) -> int:
        return min(self.most, max(1, int(free)))


class _Pace:
    """How long a row takes, in passes of about the same size. It drifts as the text grows."""

    __slots__ = ("best", "count", "usual")

    def __init__(self) -> None:
        self.best = float("inf")
        self.usual = 0.0
        self.count = 0

    def is_slow(self, seconds: float) -> bool:
        """Whether it is out of all proportion. What is not counts from now on."""
        if self.count >= 4 and seconds > SLOW * self.best:
            return True
        self.count += 1
        self.best = min(seconds, 1.01 * self.best)
        self.usual += (seconds - self.usual) / min(self.count, _TRIED)
        return False


@dataclass(kw_only=True)
class _Trial:
    """A higher count at work for some passes."""

    before: int
    usual: float
    """Seconds a row took with the count before."""
    kind: int
    passes: list[float] = field(default_factory=list)

    @property
    def is_better(self) -> bool:
        return sorted(self.passes)[len(self.passes) // 2] < _BETTER * self.usual
