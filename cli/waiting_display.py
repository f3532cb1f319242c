"""What is said while the hub is to be asked again later: as of a download that is held up.

A line that counts down on a terminal that can, one plain line a trouble in a log, nothing with -q.
"""

from __future__ import annotations

import sys

from nextok.cli.console import Console, one_line
from nextok.cli.status import Status
from nextok.cli.units import duration


class WaitingDisplay:
    """A listener of one question, about `subject`."""

    def __init__(self, subject: str, console: Console, status: Status) -> None:
        self._subject = subject
        self._console = console
        self._status = status
        self._said: str | None = None

    def __call__(self, trouble: str, seconds: float) -> None:
        """The next try is in so many seconds."""
        trouble, left = one_line(trouble), duration(seconds)
        if self._console.redraws:
            self._status.show(_cut(f"in {left} again: {trouble}"))
        elif trouble != self._said and not self._console.quiet:
            self._said = trouble
            self._console.plain(f"nextok: {self._subject}: {trouble}; next attempt in {left}")


def _cut(line: str) -> str:
    """No wider than the terminal: a line that wraps cannot be replaced."""
    from rich.console import Console as Terminal

    width = Terminal(file=sys.stderr).width - 3  # ^C takes two
    return line if len(line) <= width else f"{line[: width - 1]}…"
