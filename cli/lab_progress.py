"""How far an experiment is, on the status line: what is done, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable

from nextok.cli.status import Status
from nextok.cli.units import duration
from nextok.generation.abort import Abort

_SURE = 3.0
"""Seconds: what was seen for so long says how long the rest takes."""


class ShownProgress:
    """The Progress of an experiment that a person waits for."""

    def __init__(self, name: str, status: Status, abort: Abort, clock: Callable[[], float]) -> None:
        self._name = name
        self._status = status
        self._abort = abort
        self._clock = clock
        self._began = clock()
        self._what = ""
        self._first = 0
        """As many were done when it began."""

    def step(self, done: int, total: int, what: str) -> None:
        """Show it. Raises Aborted when the run is to end."""
        self._abort.check()
        if what != self._what:
            self._what, self._began, self._first = what, self._clock(), done
        self._status.show(
            f"lab {self._name}: {done:,} of {total:,} {what}{self._left(done, total)}"
        )

    def _left(self, done: int, total: int) -> str:
        seconds = self._clock() - self._began
        if seconds < _SURE or done <= self._first:
            return ""
        return f", {duration(seconds / (done - self._first) * (total - done))} to go"
