"""One line on the terminal that says what takes so long, and is gone before the next word."""

from __future__ import annotations

from collections.abc import Callable

from nextok.cli.console import Console

_PATIENCE = 1.0
"""Seconds of waiting before there is a word."""
_PERIOD = 0.1


class Status:
    """Nothing at all unless standard error is a terminal that knows escape codes."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._shown = False
        self._next = clock() + _PATIENCE

    def show(self, text: str) -> None:
        """Replace the line, at most ten times a second."""
        now = self._clock()
        if now >= self._next and self._console.redraw(text):
            self._shown = True
            self._next = now + _PERIOD

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._shown = False
            self._console.redraw("")
