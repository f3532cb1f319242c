"""Work that may block, done in a thread, so that whoever waits for it can stop waiting.

Promises that an abort is seen within a fifth of a second whatever the network does. The thread is
abandoned then: it ends at its next item or error, and never keeps the process alive.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from nextok.generation.abort import Abort

Item = TypeVar("Item")
Result = TypeVar("Result")

TICK_SECONDS = 0.2
_MOST_WAITING = 32
"""Items made ahead of who takes them."""


class _End:
    """What the thread puts last, with what it failed with."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class Feed(Generic[Item]):
    """The items of `source`, made in a thread."""

    def __init__(self, source: Callable[[], Iterator[Item]]) -> None:
        self._source = source
        self._queue: queue.Queue[Item | _End] = queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()

    def items(self, abort: Abort, tick: Callable[[], None]) -> Iterator[Item]:
        """Each as it comes; `tick` is called whenever none came for a while.

        Raises Aborted, and whatever the source raises.
        """
        threading.Thread(target=self._run, name="feed", daemon=True).start()
        try:
            while True:
                abort.check()
                try:
                    item = self._queue.get(timeout=TICK_SECONDS)
                except queue.Empty:
                    tick()
                    continue
                if isinstance(item, _End):
                    if item.error is not None:
                        raise item.error
                    return
                yield item
        finally:
            self._stopped.set()

    def _run(self) -> None:
        error = None
        try:
            items = self._source()
            for item in items:
                if not self._put(item):
                    break
        except BaseException as caught:  # the other thread raises it
            error = caught
        self._put(_End(error))

    def _put(self, item: Item | _End) -> bool:
        """Whether somebody still wants it."""
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=TICK_SECONDS)
            except queue.Full:
                continue
            return True
        return False


def interruptibly(
    call: Callable[[], Result], abort: Abort, tick: Callable[[], None] = lambda: None
) -> Result:
    """The call's result, or Aborted as soon as the flag is up."""

    def once() -> Iterator[Result]:
        yield call()

    (result,) = Feed(once).items(abort, tick)
    return result
