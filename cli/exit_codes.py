"""The exit codes, and which error earns which: the only table of its kind."""

from __future__ import annotations

from nextok.generation.errors import ContextError, NextokError, UsageError

ANSWERED = 0
FAILED = 1
USAGE = 2
CONTEXT = 3
TIMED_OUT = 124
HUNG_UP = 129
INTERRUPTED = 130
DISCONNECTED = 141
TERMINATED = 143

SIGNALLED = 128
"""From here on a code stands for death by the signal `code - SIGNALLED`."""

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (UsageError, USAGE),
    (ContextError, CONTEXT),
    (NextokError, FAILED),
    (BrokenPipeError, DISCONNECTED),
    (KeyboardInterrupt, INTERRUPTED),
)


def code_of(error: BaseException) -> int:
    """The exit code an error leads to."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
