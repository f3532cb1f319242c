"""The signals at a prompt: taken over for the time of one reading, and given back as they were.

From the first moment to the last each signal has a handler of ours: none is lost, and none kills
the process while the terminal is in another mode. One that comes while nobody listens waits.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

from nextok.cli.deadly_signals import DEADLY, can_take

ENDING = tuple(number for number in DEADLY if number != signal.SIGINT)
TAKEN = (*DEADLY, signal.SIGTSTP)
_TOUCHED = (signal.SIGWINCH, signal.SIGCONT)
"""By event loops, which do not give them back."""


class PromptSignals:
    """What becomes of the signals. Handlers run in the main thread, between two instructions."""

    def __init__(self) -> None:
        self._waiting: list[int] = []
        self._listener: Callable[[int], object] | None = None

    def hear(self, listener: Callable[[int], object]) -> None:
        """Tell it each signal's number, at first those that have waited."""
        self._listener = listener
        while self._waiting:
            listener(self._waiting.pop(0))

    def hold(self) -> None:
        """Whatever comes from now on waits."""
        self._listener = None

    @contextlib.contextmanager
    def stopping_as_usual(self) -> Iterator[None]:
        """Ctrl-Z stops us at once, as if we knew nothing of it."""
        before = signal.getsignal(signal.SIGTSTP)
        if before == self.take:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, before)

    def take(self, number: int, frame: object) -> None:
        """Python's handler."""
        if self._listener is None:
            self._waiting.append(number)
        else:
            self._listener(number)

    def pass_on(self) -> None:
        """Send again what has waited in vain: there are other handlers now."""
        for number in self._waiting:
            os.kill(os.getpid(), number)


@contextlib.contextmanager
def prompt_signals() -> Iterator[PromptSignals]:
    """Handlers, mask and wake-up descriptor are the prompt's inside, and as they were behind it.

    What nohup or a shell has made ignored stays ignored.
    """
    signals = PromptSignals()
    handlers = {number: signal.getsignal(number) for number in (*TAKEN, *_TOUCHED)}
    wakeup = signal.set_wakeup_fd(-1)
    for number in TAKEN:
        if can_take(number):
            signal.signal(number, signals.take)
    if can_take(signal.SIGCONT):
        signal.signal(signal.SIGCONT, signal.SIG_DFL)  # the terminal is not in a reply's modes
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, TAKEN)
    try:
        yield signals
    finally:
        signals.hold()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            if handler is not None:  # None is a handler that is not Python's
                signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signals.pass_on()
