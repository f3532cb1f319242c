"""A stretch of work that signals end at once and without a word: what was kept stays kept."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from nextok.cli.deadlines import Deadlines
from nextok.cli.ending import leave
from nextok.cli.status import Status
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort, Aborted


@contextlib.contextmanager
def watching(abort: Abort, status: Status) -> Iterator[None]:
    """Watch while it lasts. A signal takes the status line away and ends the process."""
    watcher = Watcher(
        abort,
        Deadlines(),
        started=time.monotonic(),
        clock=time.monotonic,
        last_words=lambda reason: status.close(),
    )
    watcher.start()
    try:
        with contextlib.suppress(Aborted):
            yield
        if abort.reason is not None:
            status.close()
            leave(abort.reason, watcher.signal_number)
    finally:
        status.clear()
        watcher.stop()
