"""What was true when the process started, and is not to be found out later."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

_SLACK_SECONDS = 1.0
"""What a process may have waited for a disk; one that waited longer was a shell that waited for
something else, and then became nextok."""


class Start(NamedTuple):
    """The beginning of this process."""

    at: float
    """When, in `time.monotonic` seconds: deadlines and the time to the first byte count from it."""
    stdin_closed: bool = False
    """Standard input was closed; it is /dev/null now, lest a model file becomes it."""
    stdout_closed: bool = False
    stderr_closed: bool = False


def process_start() -> float:
    """When this process began, in `time.monotonic` seconds: Python's own start is part of a run.

    To be asked early: it is what the process has computed and has waited for a CPU until now and,
    where the system tells its age, for a disk.
    """
    busy = time.process_time() + _waited_seconds()
    age = _age_seconds()
    return time.monotonic() - (age if busy <= age <= busy + _SLACK_SECONDS else busy)


def _waited_seconds() -> float:
    """For a CPU that others had; 0 where nobody counts that."""
    try:
        with open("/proc/self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _age_seconds() -> float:
    """Since the process was made, to a hundredth; 0 where nobody tells."""
    try:
        with open("/proc/self/stat", "rb") as file:
            began = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
