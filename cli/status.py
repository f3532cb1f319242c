"""One line on the terminal that says what takes so long, and is gone before the next word."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nextok.cli.console import Console

_PATIENCE = 1.0
"""Seconds of waiting before there is a word."""
_PERIOD = 0.1
_MANNERS = 0.05
"""Seconds to wait for whoever draws, at the end."""


class Status:
    """Nothing at all unless standard error is a terminal that knows escape codes."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._shown = False
        self._closed = False
        self._next = clock() + _PATIENCE
        self._turn = threading.Lock()  # a download's line is drawn by a thread of its own

    def begin(self) -> None:
        """Another wait begins: patience, first."""
        self._next = self._clock() + _PATIENCE

    def show(self, text: str) -> None:
        """Replace the line, at most ten times a second."""
        now = self._clock()
        if now >= self._next and self.draw(text):
            self._next = now + _PERIOD

    def draw(self, text: str, *, styled: bool = False) -> bool:
        """Replace the line at once; whether it could be. styled: it has its own escape codes."""
        if not styled:
            text = text[: self._console.columns - 1]  # a line that wraps cannot be replaced
        with self._turn:
            drawn = not self._closed and self._console.redraw(text, styled=styled)
            self._shown = self._shown or drawn
            return drawn

    def clear(self) -> None:
        """Take the line away."""
        with self._turn:
            self._erase()

    def close(self) -> None:
        """Take the line away for good: the process is about to end, and waits for nobody."""
        self._closed = True
        if self._turn.acquire(timeout=_MANNERS):
            self._erase()
            self._turn.release()

    def _erase(self) -> None:
        if self._shown:
            self._shown = False
            self._console.redraw("")
