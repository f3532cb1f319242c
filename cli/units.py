"""Figures for people: bytes, rates, and how long something takes or is ago."""

from __future__ import annotations

_AGES = ((60, "second"), (60, "minute"), (24, "hour"), (30, "day"), (12, "month"))
"""How many of a unit make the next one."""


def size(number: int) -> str:
    """Bytes: 97.9 MiB."""
    value, unit = float(number), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours: 42 s, 3 min 05 s, 2 h 07 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {left:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def brief(seconds: float) -> str:
    """A short time in at most seven columns: 8.3 ms, 120 ms, 1.23 s, 12.3 s."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 10_000 else f"{seconds / 3600:.0f} h"


def ago(seconds: float) -> str:
    """How long something is past: 3 hours ago."""
    count, unit = int(seconds), "year"
    if count < 60:
        return "just now"
    for most, name in _AGES:
        if count < most:
            unit = name
            break
        count //= most
    return f"{count} {unit}{'' if count == 1 else 's'} ago"
