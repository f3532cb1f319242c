"""How far a batch is, how fast it goes and how long it will take: one line on the terminal."""

from __future__ import annotations

from collections.abc import Callable

from nextok.cli.status import Status
from nextok.cli.units import duration

_PERIOD_SECONDS = 0.2


class BatchProgress:
    """Told of tokens and lines; draws at most five times a second."""

    def __init__(self, status: Status, lines: int, clock: Callable[[], float]) -> None:
        """lines: to be answered."""
        self.done = 0
        self.tokens = 0
        """Read and said."""
        self._status = status
        self._lines = lines
        self._clock = clock
        self._began = clock()
        self._next = self._began

    def said(self, tokens: int, now: float) -> None:
        """So many were read or said, up to `now`. The hot path."""
        self.tokens += tokens
        if now >= self._next:
            self._next = now + _PERIOD_SECONDS
            self._status.show(self._words(now - self._began))

    def finished(self) -> None:
        """One more line is done."""
        self.done += 1

    def summary(self) -> str:
        """At the end."""
        seconds = self._clock() - self._began
        lines = "1 line" if self.done == 1 else f"{self.done} lines"
        return f"{lines} in {duration(seconds)}: {self._rate(seconds)}"

    def _words(self, seconds: float) -> str:
        words = f"{self.done} of {self._lines} lines · {self._rate(seconds)}"
        if self.done == 0:
            return words
        left = seconds / self.done * (self._lines - self.done)
        return f"{words} · {duration(left)} left"

    def _rate(self, seconds: float) -> str:
        return f"{self.tokens / seconds if seconds > 0 else 0:.0f} tokens/s"
