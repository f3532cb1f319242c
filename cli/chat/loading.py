"""Loads the model of a chat so that an interrupt is obeyed within moments, wherever it is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.threads import allowed_cpus
from nextok.cli.abandonable import abandonable
from nextok.cli.chat.engine import Engine
from nextok.cli.deadlines import Deadlines
from nextok.cli.ending import leave
from nextok.cli.loaded import Loader
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.cli.chat.reply import Stage
    from nextok.cli.console import Console
    from nextok.cli.resolution import Resolved
    from nextok.cli.status import Status


class Closable(Protocol):
    """What holds memory until it is closed."""

    def close(self) -> None: ...


Held = TypeVar("Held", bound=Closable)


class Loading:
    """Loads, as often as it is asked to."""

    def __init__(self, stage: Stage, console: Console, status: Status) -> None:
        self._stage = stage
        self._console = console
        self._status = status

    def engine(self, resolved: Resolved) -> Engine:
        """A model at work. Aborted when it was interrupted; raises like a Loader."""
        stage = self._stage
        stage.abort.rearm()
        self._status.begin()
        loader = Loader(
            resolved=resolved,
            abort=stage.abort,
            console=self._console,
            status=self._status,
            clock=stage.clock,
            around_fetching=self._attended,
            cpus=FreeCpus(allowed_cpus()),
        )
        path, draft, began = loader.find(), loader.find_draft(), stage.clock()
        opened = self._abandonable(lambda: loader.open(path, draft))
        loaded = loader.settled(path, opened, began)
        return self._abandonable(lambda: Engine(loaded, stage.abort, self._console))

    def _abandonable(self, work: Callable[[], Held]) -> Held:
        with self._attended():
            return abandonable(work, self._stage.abort, lambda late: late.close())

    @contextlib.contextmanager
    def _attended(self) -> Iterator[None]:
        """An interrupt ends what goes on, or the process if nobody sits there."""
        watcher = self._stage.watcher(Deadlines())
        watcher.start()
        try:
            yield
        finally:
            watcher.stop()
            self._status.clear()
            if watcher.signal_number:
                if self._stage.keyboard is not None:
                    self._stage.keyboard.restore()
                leave(FinishReason.INTERRUPTED, watcher.signal_number)
