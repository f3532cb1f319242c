"""Standard input as a prompt: read only where a person would expect it to be."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable, Iterator

from nextok.generation.errors import UsageError

SILENCE = 2.0
"""Seconds after which a silent pipe deserves a hint."""

MOST_BYTES = 1 << 26
"""Of a prompt or a conversation: more than any context holds, and less than any memory."""


def is_readable(descriptor: int = 0) -> bool:
    """Whether it is a pipe, a socket or a file: a terminal and /dev/null hold no prompt."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def read_all(
    descriptor: int = 0,
    *,
    name: str = "standard input",
    when_silent: Callable[[], None] | None = None,
) -> bytes:
    """Everything up to the end. `when_silent` is called if nothing comes for a while.

    UsageError if it cannot be read, or does not end within reason.
    """
    if when_silent is not None:
        ready, _, _ = select.select([descriptor], [], [], SILENCE)
        if not ready:
            when_silent()
    parts, size = [], 0
    while part := _read(descriptor, name):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise UsageError(f"{name} holds more than {MOST_BYTES >> 20} MiB: no prompt is so long")
    return b"".join(parts)


def _read(descriptor: int, name: str) -> bytes:
    while True:
        try:
            return os.read(descriptor, 1 << 16)
        except BlockingIOError:  # somebody made the pipe non-blocking
            select.select([descriptor], [], [])
        except OSError as error:
            raise UsageError(f"cannot read {name}: {error.strerror}") from error


def read_lines(descriptor: int = 0, *, name: str = "standard input") -> Iterator[bytes]:
    """Its lines, each as soon as it is there. UsageError if one does not end within reason."""
    begun, size = [], 0  # of a line that has not ended yet
    while part := _read(descriptor, name):
        first, *others = part.split(b"\n")
        begun.append(first)
        size += len(first)
        if others:
            yield b"".join(begun) + b"\n"
            yield from (line + b"\n" for line in others[:-1])
            begun, size = [others[-1]], len(others[-1])
        if size > MOST_BYTES:
            raise UsageError(f"a line of {name} is over {MOST_BYTES >> 20} MiB long")
    if size:
        yield b"".join(begun)
