"""The terminal while a reply streams: keys are not shown, and wait for the next prompt.

Ctrl-C and Ctrl-Z stay signals. Enter stays the key that it is (no translation to a newline), also
where it was typed before these modes were on, and a signal throws nothing away that was typed or
is on its way to the screen.
"""

from __future__ import annotations

import fcntl
import struct
import termios
import threading
from types import TracebackType
from typing import Any

_INPUT, _LOCAL, _CHARACTERS = 0, 3, 6
"""Places in what `tcgetattr` gives."""
_NEWLINE, _ENTER = b"\n", b"\r"
_TRACE, _END_OF_INPUT = b"\0", b"\x04"
"""What is left of Ctrl-D when the terminal stops making lines before it is read."""


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
        self._early_bytes = 0
        """Of those that wait to be read, the first: they came under the modes from before."""

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
                self._quieten(self._before)

    def as_typed(self, data: bytes) -> bytes:
        """What has just been read from the terminal, its beginning as it was typed."""
        with self._lock:
            if not self._early_bytes or self._before is None:
                return data
            count = min(self._early_bytes, len(data))
            self._early_bytes -= count
            return _untranslated(data[:count], self._before) + data[count:]

    def _begin(self) -> None:
        self._before = self._modes()
        if self._before is not None:  # it is a terminal
            self._quieten(self._before)

    def _quieten(self, before: list[Any]) -> None:
        """Unless it is so already; what waits has then come under other modes."""
        quiet = _quiet(before)
        if self._modes() != quiet:
            self._set(quiet)
            self._early_bytes = _waiting_bytes(self._descriptor)

    def _modes(self) -> list[Any] | None:
        try:
            return termios.tcgetattr(self._descriptor)
        except termios.error:
            return None

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


def _untranslated(data: bytes, modes: list[Any]) -> bytes:
    """The keys behind what these modes have made of them."""
    if modes[_INPUT] & termios.ICRNL:
        data = data.replace(_NEWLINE, _ENTER)
    return data.replace(_TRACE, _END_OF_INPUT) if modes[_LOCAL] & termios.ICANON else data


def _waiting_bytes(descriptor: int) -> int:
    """How many have been typed and not been read."""
    try:
        answer = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    except OSError:
        return 0  # the terminal has gone
    return int(struct.unpack("i", answer)[0])
