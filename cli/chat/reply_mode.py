"""The terminal while a reply streams: keys are not shown, and wait for the next prompt.

Ctrl-C and Ctrl-Z stay signals. Enter stays the key that it is (no translation to a newline), and a
signal throws nothing away that was typed or is on its way to the screen.
"""

from __future__ import annotations

import termios
import threading
from types import TracebackType
from typing import Any

_INPUT, _LOCAL, _CHARACTERS = 0, 3, 6
"""Places in what `tcgetattr` gives."""


class QuietKeys:
    """A terminal's modes for the time of a `with`, which may be entered again inside: around a
    reply, or better around a whole chat, for `Editor.read` may be called there.

    Every method may be called from any thread.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.RLock()  # a signal's handler may come in between
        self._before: list[Any] | None = None
        self._depth = 0

    def __enter__(self) -> QuietKeys:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._before is not None:
                self._set(self._before)
                self._before = None

    def restore(self) -> None:
        """The modes from before, for a while: the process is about to stop."""
        with self._lock:
            if self._before is not None:
                self._set(self._before)

    def apply(self) -> None:
        """The quiet modes again: the process goes on. Outside of the `with` it does nothing."""
        with self._lock:
            if self._before is not None:
                self._set(_quiet(self._before))

    def _begin(self) -> None:
        try:
            self._before = termios.tcgetattr(self._descriptor)
        except termios.error:
            return  # no terminal: nothing to do
        self._set(_quiet(self._before))

    def _set(self, modes: list[Any]) -> None:
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
        except termios.error:
            return  # the terminal has gone: there is nothing to restore


def _quiet(before: list[Any]) -> list[Any]:
    modes = [*before[:_CHARACTERS], list(before[_CHARACTERS])]
    modes[_INPUT] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
    modes[_LOCAL] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    modes[_LOCAL] |= termios.ISIG | termios.NOFLSH
    modes[_CHARACTERS][termios.VMIN] = 1
    modes[_CHARACTERS][termios.VTIME] = 0
    return modes
