"""The signals at a prompt: taken over for the time of one reading, and given back as they were.

Between taking them over and giving them back none can be lost or hit the wrong handler: they wait.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

ENDING = (signal.SIGTERM, signal.SIGHUP)
TAKEN = (signal.SIGINT, *ENDING, signal.SIGTSTP)


@contextlib.contextmanager
def kept_signals() -> Iterator[None]:
    """Whatever is done to handlers inside is undone at the end. The signals wait, but for the time
    between `hear` and `hold`."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)
    handlers = {number: signal.getsignal(number) for number in (*TAKEN, signal.SIGWINCH)}
    wakeup = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        hold()
        for number, handler in handlers.items():
            if handler is not None:  # None: not Python's, and nothing of ours has touched it
                signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def hear() -> None:
    """The handlers are in place: whatever waited comes now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TAKEN)


def hold() -> None:
    """The handlers are about to go: whatever comes now waits."""
    signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)


def not_ignored() -> list[signal.Signals]:
    """Those of `TAKEN` that somebody wants: what nohup or a shell ignores stays ignored."""
    return [number for number in TAKEN if signal.getsignal(number) is not signal.SIG_IGN]
