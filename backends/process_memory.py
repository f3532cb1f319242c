"""How much memory this process takes: now, and at most since it began. In bytes."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def peak_resident_bytes() -> int:
    """The most that was in memory at once, mapped files included as far as they were read."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes(statm: Path = _STATM) -> int | None:
    """What is in memory now; None where the system does not say."""
    try:
        pages = int(statm.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
