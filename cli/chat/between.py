"""The signals between two replies, while a command runs or the next prompt is being made.

Promises that none of them ends the chat with the terminal in its quiet modes. A reply and a prompt
take the signals over for their own time and give them back here.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeAlias

from nextok.cli.watcher import Keyboard

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_Handler: TypeAlias = Callable[[int, FrameType | None], object]


class Interrupted(Exception):
    """Ctrl-C, where it means something between two replies."""


def take_signals(keyboard: Keyboard, end: Callable[[int], object]) -> None:
    """From now on; what is ignored stays ignored. end: given a signal that is to end the chat."""
    _take(signal.SIGINT, _do_nothing)
    _take(signal.SIGTSTP, lambda number, frame: _stop(keyboard))
    for number in _ENDING:
        _take(number, lambda number, frame: end(number))


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises Interrupted inside: for what may take for ever and leaves nothing half done."""
    before = signal.getsignal(signal.SIGINT)
    _take(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _take(number: signal.Signals, handler: _Handler) -> None:
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, handler)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """It was meant for what has just ended."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _stop(keyboard: Keyboard) -> None:
    keyboard.restore()
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # it goes on here after `fg`
    keyboard.apply()
