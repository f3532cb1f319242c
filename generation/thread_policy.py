"""How many threads the next pass takes, from how long the last ones took.

Threads meet at a barrier after every operation, hundreds of times a token. One that waits for a
CPU, because a neighbour has it, keeps all others waiting, each time for a slice of the scheduler:
a token then takes a hundred times as long, and with one thread less only what one thread less
costs. So the count goes down when passes starve, and up again when CPUs are free.

Knows no clock, no engine and no operating system: it is told seconds, and asks how many CPUs are
free. Its time is the sum of the seconds it was told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SLOW = 4.0
"""Times the best pass of late. Noise of a third stays below; a starving barrier is far above."""
STRIKES = 2.5
"""So many slow passes are no hiccups any more; one that is not slow takes a fifth off."""
STARVED = 0.65
"""CPUs that others have of those our threads need, at which they starve for certain. A thread
that shares a CPU fairly leaves half of it; one that leaves more waits for another of ours."""
ROOM = 0.35
"""CPUs that others may have of those a count needs."""
PROBE_ROOM = 0.2
"""The same before a higher count is tried, which must not starve."""
LOOK_EVERY = 0.5
"""Seconds between two looks at the CPUs while nothing is slow."""
PATIENCE = 1.0
"""Seconds from a step down to the next try. They double with each, until one was a while ago."""
BLIND_PATIENCE = 30.0
"""The same where CPUs cannot be looked at, and a try may cost a starved token."""
_MOST_PATIENT = 64
"""Times as long, at most."""
_TRIED = 8
"""Tokens after which a higher count has shown what it is worth."""
_BETTER = 0.97
_WARM = 4
"""Passes until there is a best one to compare with."""


class ThreadPolicy:
    """Begins with `most` threads; `threads` is what the next pass should take."""

    def __init__(self, most: int, look: Callable[[], float | None]) -> None:
        """look: CPUs that nobody else used since it was last asked; None when it cannot tell."""
        self.most = most
        self.threads = most
        self._look = look
        self._sees = False
        self._seconds = 0.0
        self._next_look = LOOK_EVERY
        self._strikes = 0.0
        self._paces: dict[int, _Pace] = {}
        self._trial: _Trial | None = None
        self._patience = 1
        self._lowered_at = self._raise_at = 0.0

    def begin(self) -> None:
        """A generation begins: the depth and the neighbours may be others than before."""
        free = self._free()
        if free is not None:
            self._change(self._fitting(free + ROOM))
        elif not self._sees and self._seconds >= self._raise_at:
            self._change(self.most)
        else:
            self._change(self.threads)

    def passed(self, rows: int, seconds: float) -> None:
        """A pass over so many rows has taken so long."""
        self._seconds += seconds
        kind = rows.bit_length()  # a row costs less in a larger batch
        if self._trial is not None and not self._stands(self._trial, kind, seconds / rows):
            return
        pace = self._paces.get(kind)
        if pace is None:
            pace = self._paces[kind] = _Pace(rows)
        slow = pace.is_slow(seconds / rows)
        if slow:
            self._strikes += 1
        elif self._strikes > 0:
            self._strikes -= 0.2
        if slow or self._seconds >= self._next_look:
            self._look_around(kind)

    def _look_around(self, kind: int) -> None:
        free = self._free()
        if self._starves(free):
            self._lower(self._lower_count(free))
        elif free is not None and self._trial is None and self._seconds >= self._raise_at:
            self._try(self._fitting(free + PROBE_ROOM), kind)

    def _free(self) -> float | None:
        self._next_look = self._seconds + LOOK_EVERY
        free = self._look()
        self._sees = self._sees or free is not None
        return free

    def _starves(self, free: float | None) -> bool:
        """Whether others have our CPUs for certain; or perhaps, and it shows; or it only shows."""
        if self.threads == 1:
            return False
        taken = 0.0 if free is None else self.threads - free
        return (
            taken > STARVED
            or (taken > ROOM and self._strikes > 0)
            or self._strikes >= STRIKES
        )  # fmt: skip

    def _lower_count(self, free: float | None) -> int:
        if free is None:
            return self.threads // 2
        # The look's average may reach back to before the neighbours came. A step too deep is soon
        # made up for; one that is not deep enough costs another starved token.
        margin = self.threads // 4 if self._strikes > 0 else 0
        return min(self._fitting(free + ROOM) - margin, self.threads - 1)

    def _lower(self, threads: int) -> None:
        self._change(max(1, threads))
        unit = PATIENCE if self._sees else BLIND_PATIENCE
        if self._seconds - self._lowered_at > 4 * unit * self._patience:
            self._patience = 1
        self._lowered_at = self._seconds
        self._raise_at = self._seconds + unit * self._patience
        self._patience = min(2 * self._patience, _MOST_PATIENT)

    def _try(self, threads: int, kind: int) -> None:
        pace = self._paces.get(kind)
        if threads > self.threads and pace is not None:
            trial = _Trial(kind=kind, before=self.threads, usual=pace.usual)
            self._change(threads)
            self._trial = trial

    def _stands(self, trial: _Trial, kind: int, seconds: float) -> bool:
        """Whether the higher count may stay for now; where not, the one before is back."""
        if kind != trial.kind:
            self._trial = None
            return True
        trial.passes.append(seconds)
        if trial.is_lost:
            self._lower(trial.before)
            return False
        if trial.is_over:
            self._trial = None
        return True

    def _change(self, threads: int) -> None:
        """What was measured was measured with another count."""
        self.threads = threads
        self._paces.clear()
        self._strikes = 0.0
        self._trial = None

    def _fitting(self, free: float) -> int:
        return min(self.most, max(1, int(free)))


class _Pace:
    """How long a row takes in passes of about one size. It drifts as the text grows."""

    __slots__ = ("_count", "_drift", "best", "usual")

    def __init__(self, rows: int) -> None:
        self.best = float("inf")
        self.usual = 0.0
        self._count = 0
        # Measured: a pass of 512 rows takes up to half as long again as the one before it.
        self._drift = 1 + 0.01 * min(rows, 50)

    def is_slow(self, seconds: float) -> bool:
        """Whether it is out of all proportion; if not, it counts from now on."""
        if self._count >= _WARM and seconds > SLOW * self.best:
            return True
        self._count += 1
        self.best = min(seconds, self._drift * self.best)
        self.usual += (seconds - self.usual) / min(self._count, _TRIED)
        return False


@dataclass(kw_only=True)
class _Trial:
    """A higher count at work for some passes."""

    kind: int
    before: int
    usual: float
    """Seconds that a row took with the count before."""
    passes: list[float] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """One pass of many tokens is enough: the next one is deeper, and cannot be compared."""
        return len(self.passes) >= (_TRIED if self.kind == 1 else 1)

    @property
    def is_lost(self) -> bool:
        """Much worse at once, or no better in the end."""
        if self.passes[-1] > 2 * self.usual:
            return True
        middle = sorted(self.passes)[len(self.passes) // 2]
        return self.kind == 1 and self.is_over and middle > _BETTER * self.usual
