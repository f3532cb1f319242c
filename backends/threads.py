"""How many threads decode fastest: one for each physical core this process may use."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def default_threads() -> int:
    """Physical cores within the affinity mask, no more than the container's CPU quota.

    A hyper-thread's twin or a throttled core makes every barrier of the engine wait.
    """
    allowed = allowed_cpus()
    return max(1, min(_physical(allowed), _quota(len(allowed))))


def allowed_cpus() -> set[int]:
    """The numbers of the CPUs this process may run on."""
    if sys.platform == "linux":
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _physical(cpus: Iterable[int]) -> int:
    """CPUs that share a core count once."""
    return len({_siblings(cpu) for cpu in cpus})


def _siblings(cpu: int) -> str:
    try:
        return (_CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


def _quota(unlimited: int) -> int:
    """cgroup v2's `cpu.max`: microseconds allowed of each period, or `max`."""
    try:
        allowed, period = _QUOTA.read_text().split()
        return unlimited if allowed == "max" else math.ceil(int(allowed) / int(period))
    except (OSError, ValueError):
        return unlimited
