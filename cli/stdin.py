"""Standard input as a prompt: read only where a person would expect it to be."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable

SILENCE = 2.0
"""Seconds after which a silent pipe deserves a hint."""


def is_readable(descriptor: int = 0) -> bool:
    """Whether it is a pipe, a socket or a file: a terminal and /dev/null hold no prompt."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def read_all(descriptor: int = 0, *, when_silent: Callable[[], None] | None = None) -> bytes:
    """Everything up to the end. `when_silent` is called if nothing comes for a while."""
    if when_silent is not None:
        ready, _, _ = select.select([descriptor], [], [], SILENCE)
        if not ready:
            when_silent()
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)
