"""The signals of a chat before its first reply and between two, while a command runs or the next
prompt is being made.

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

from nextok.cli.deadly_signals import DEADLY, can_take
from nextok.cli.watcher import Keyboard

_Handler: TypeAlias = Callable[[int, FrameType | None], object]


class Interrupted(Exception):
    """Ctrl-C, where it means something between two replies."""


def take_signals(keyboard: Keyboard, end: Callable[[int], object]) -> None:
    """From now on; what is ignored stays ignored. end: given a signal that is to end the chat."""
    take_signals_at_start(keyboard, end)
    _take(signal.SIGINT, _do_nothing)


def take_signals_at_start(keyboard: Keyboard, end: Callable[[int], object]) -> None:
    """The same while there is nothing yet that Ctrl-C could stop but the chat."""
    for number in DEADLY:
        _take(number, lambda number, frame: end(number))
    _take(signal.SIGTSTP, lambda number, frame: _stop(keyboard))
    _take(signal.SIGCONT, lambda number, frame: keyboard.apply())


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises Interrupted inside: for what may take for ever and leaves nothing half done."""
    before = signal.getsignal(signal.SIGINT)
    _take(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _take(number: int, handler: _Handler) -> None:
    if can_take(number):
        signal.signal(number, handler)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """It was meant for what has just ended."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _stop(keyboard: Keyboard) -> None:
    keyboard.restore()
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # it goes on here after `fg`
    keyboard.apply()
