"""The signals that end a process which does not catch them, of those that can be caught in peace.

Not among them is what a fault of the program's own raises (a handler of Python's would return into
the fault), nor what stops, wakes or informs.
"""

from __future__ import annotations

import signal

_SPARES = frozenset(
    ["SIGCHLD", "SIGCLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO"]  # ignored or going on
    + ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"]
)
_FAULTS = frozenset(["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGEMT"])
_UNCAUGHT = frozenset(["SIGKILL"])


def _name(number: int) -> str:
    """Its name; real-time signals have none."""
    return number.name if isinstance(number, signal.Signals) else ""


DEADLY: tuple[int, ...] = tuple(
    number
    for number in sorted(signal.valid_signals())
    if _name(number) not in _SPARES | _FAULTS | _UNCAUGHT
)
"""Their numbers."""


def can_take(number: int) -> bool:
    """Whether a handler of ours may come: what is ignored (nohup) or not Python's is left alone."""
    return signal.getsignal(number) not in (signal.SIG_IGN, None)
