"""Work that can be left behind: it goes on in a thread of its own, and its fruit is thrown away."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from nextok.generation.abort import Abort

Result = TypeVar("Result")

_LOOK = 0.01
"""Seconds between two looks at the abort flag."""


def abandonable(
    work: Callable[[], Result], abort: Abort, discard: Callable[[Result], None]
) -> Result:
    """What `work` returns or raises; Aborted as soon as the flag is up, wherever the work is.

    An engine that parses a large vocabulary looks at no flag: a person is not to wait for it.
    discard: given a result that came too late.
    """
    errand = _Errand(work, discard)
    thread = threading.Thread(target=errand.run, name="errand", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK)
        if abort.reason is not None:
            errand.leave()
            abort.check()
    return errand.fetch()


class _Errand(Generic[Result]):
    def __init__(self, work: Callable[[], Result], discard: Callable[[Result], None]) -> None:
        self._work = work
        self._discard = discard
        self._lock = threading.Lock()
        self._left = False
        self._results: list[Result] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            result = self._work()
        except BaseException as error:
            self._error = error
            return
        with self._lock:
            self._results.append(result)
            if self._left:
                self._throw_away()

    def leave(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._left = True
            self._throw_away()

    def fetch(self) -> Result:
        if self._error is not None:
            raise self._error
        return self._results.pop()

    def _throw_away(self) -> None:
        while self._results:
            self._discard(self._results.pop())
