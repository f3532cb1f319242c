"""How much memory this process can still take."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def available_bytes(
    proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """What this process can still allocate, swap included; None when the system does not say.

    The smallest of: the machine's available memory, the limits of our control groups, and the
    address space that `ulimit -v` leaves.
    """
    limits = [*_machine(proc), *_control_groups(proc, cgroups), *_address_space(proc)]
    return max(0, min(limits)) if limits else None


def _machine(proc: Path) -> Iterator[int]:
    figures = _figures(proc / "meminfo")
    if "MemAvailable" in figures:
        yield (figures["MemAvailable"] + figures.get("SwapFree", 0)) * 1024
    elif "SC_PHYS_PAGES" in os.sysconf_names:  # macOS: what it has, not what is free
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _address_space(proc: Path) -> Iterator[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    size = _figures(proc / "self" / "status").get("VmSize")
    if limit != resource.RLIM_INFINITY and size is not None:
        yield limit - size * 1024


def _control_groups(proc: Path, cgroups: Path) -> Iterator[int]:
    """What each group we are in leaves, and each group around it."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        if controllers == "":
            yield from _groups_upward(cgroups, place, "memory.max", "memory.current", "file")
        elif "memory" in controllers.split(","):
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
            yield from _groups_upward(cgroups / "memory", place, limit, used, "total_cache")


def _groups_upward(root: Path, place: str, limit: str, used: str, cache: str) -> Iterator[int]:
    """Limit minus use; file pages do not count as used, since the kernel drops them at need."""
    inner = PurePosixPath("/") / place
    for group in (inner, *inner.parents):
        folder = root / group.relative_to("/")
        most, now = _text(folder / limit).strip(), _text(folder / used).strip()
        if most.isdecimal() and now.isdecimal():
            dropped = _figures(folder / "memory.stat").get(cache, 0)
            yield int(most) - int(now) + dropped + _swap(folder)


def _swap(folder: Path) -> int:
    """Bytes a group may still swap out (version 2 only)."""
    most = _text(folder / "memory.swap.max").strip()
    now = _text(folder / "memory.swap.current").strip()
    return max(0, int(most) - int(now)) if most.isdecimal() and now.isdecimal() else 0


def _figures(path: Path) -> dict[str, int]:
    """Lines of a name and a number, as the kernel writes them."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except (OSError, ValueError):
        return ""
