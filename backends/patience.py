"""How often and how long to try again when the trouble may pass.

Knows counts and seconds only. A try that brought something new starts the count again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from nextok.backends.feed import TICK_SECONDS, interruptibly
from nextok.backends.hub_errors import Passing, RateLimited, ServerFailed
from nextok.generation.abort import Abort

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Limits. Seconds."""

    tries: int = 8
    """In a row without a new byte."""
    first_wait: float = 0.5
    """Doubled with every further try."""
    longest_wait: float = 20.0
    longest_asked: float = 60.0
    """Of what a server may ask to wait; for more, it is the user who decides."""

    def wait_after(self, error: Passing, tries: int) -> float | None:
        """Seconds until the next try, after so many; None when it is time to give up."""
        if tries >= self.tries:
            return None
        if error.wait_seconds is not None:
            return error.wait_seconds if error.wait_seconds <= self.longest_asked else None
        wait: float = self.first_wait * 2 ** (tries - 1)
        return min(self.longest_wait, wait)


Waiting = Callable[[str, float], None]
"""Told what the trouble is, and the seconds until the next try; again and again."""


def rest(seconds: float, abort: Abort, tick: Callable[[float], None]) -> None:
    """Wait, telling `tick` how many seconds are left. Raises Aborted."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        abort.check()
        tick(left)
        time.sleep(min(left, TICK_SECONDS))
    abort.check()


@dataclass(frozen=True, kw_only=True)
class Questions:
    """Asks the hub: one that fails or wants to be left alone is asked again later."""

    abort: Abort
    patience: Patience = Patience()
    waiting: Waiting = lambda trouble, seconds: None

    def ask(self, question: Callable[[], Result]) -> Result:
        """The answer. Raises HubError, at once when there is no network, and Aborted."""
        tries = 0
        while True:
            tries += 1
            try:
                return interruptibly(question, self.abort)
            except (ServerFailed, RateLimited) as error:
                wait, trouble = self.patience.wait_after(error, tries), error
            if wait is None:
                raise trouble.after(tries)
            self._rest(wait, trouble.what)

    def _rest(self, seconds: float, trouble: str) -> None:
        rest(seconds, self.abort, lambda left: self.waiting(trouble, left))
