"""How many CPUs the other processes left to this one, lately.

Promises a figure only where Linux keeps the times of each CPU; None elsewhere, and for a while
too short to tell. Says nothing of quotas.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeAlias

_STAT = Path("/proc/stat")
_TICK = 0.01
"""Seconds. Linux counts in these (USER_HZ) on all architectures that matter."""
_SHORTEST = 0.05
"""Seconds. In less, a tick more or less would be a different answer."""
_NICE, _IDLE, _IOWAIT = 1, 3, 4
"""Columns of a CPU's line: proc_stat(5)."""


_Sample: TypeAlias = tuple[float, float, float]
"""When it was taken, the seconds that the CPUs had for whoever wants them, and ours."""


def own_seconds() -> float:
    """CPU time of this process, all its threads and the children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


class FreeCpus:
    """The CPUs in `allowed`, watched from the first `look` on."""

    def __init__(
        self,
        allowed: Collection[int],
        *,
        stat: Path = _STAT,
        clock: Callable[[], float] = time.monotonic,
        own: Callable[[], float] = own_seconds,
        niceness: Callable[[], int] = lambda: os.getpriority(os.PRIO_PROCESS, 0),
    ) -> None:
        self._allowed = {f"cpu{cpu}" for cpu in allowed}
        self._stat = stat
        self._clock = clock
        self._own = own
        self._niceness = niceness
        self._last: _Sample | None = None

    def look(self) -> float | None:
        """CPUs, on average since the last look, that were idle or ours.

        None: this is the first look, the last one was a moment ago, or the system does not say.
        """
        before = self._last
        if before is not None and self._clock() - before[0] < _SHORTEST:
            return None
        now = self._last = self._sample()
        if before is None or now is None:
            return None
        seconds, idle, own = (later - earlier for earlier, later in zip(before, now, strict=True))
        return min(max((idle + own) / seconds, 0.0), float(len(self._allowed)))

    def _sample(self) -> _Sample | None:
        try:
            text, outranking = self._stat.read_text(), self._niceness() <= 0
            idle = idle_seconds(text, self._allowed, outranking=outranking)
        except (OSError, ValueError, IndexError):
            return None
        return None if idle is None else (self._clock(), idle, self._own())


def idle_seconds(stat: str, names: Collection[str], *, outranking: bool = True) -> float | None:
    """Of the CPUs with these names (`cpu0`), from the text of /proc/stat; None if one is missing.

    outranking: what runs at a lower priority than usual gives way to us, and its time is idle.
    """
    columns_meant = (_NICE, _IDLE, _IOWAIT) if outranking else (_IDLE, _IOWAIT)
    ticks, found = 0, 0
    for line in stat.splitlines():
        name, *columns = line.split(None, 8)
        if name in names:
            found += 1
            ticks += sum(int(columns[one]) for one in columns_meant)
        elif found and not name.startswith("cpu"):
            break  # the lines after those of the CPUs are long
    return ticks * _TICK if found == len(names) else None
