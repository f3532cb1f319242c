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


QUESTIONS = Patience(tries=4, longest_asked=10.0)
"""For what the user waits to be asked about."""


def rest(seconds: float, abort: Abort, tick: Callable[[float], None]) -> None:
    """Wait, telling `tick` how many seconds are left. Raises Aborted."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        abort.check()
        tick(left)
        time.sleep(min(left, TICK_SECONDS))
    abort.check()


def ask(question: Callable[[], Result], abort: Abort, patience: Patience = QUESTIONS) -> Result:
    """The hub's answer. A hub that fails is asked again; without a network it is an error."""
    for tries in range(1, patience.tries + 1):
        try:
            return interruptibly(question, abort)
        except (ServerFailed, RateLimited) as error:
            wait = patience.wait_after(error, tries)
            if wait is None:
                raise error.after(tries) from None
        rest(wait, abort, lambda left: None)
    raise ValueError("patience for at least one try")
