"""The one watcher for everything that comes from outside: signals, the reader, the clock.

Python runs no signal handler while the main thread is inside the engine, so a small thread waits
for all of it and trips the abort flag, which the engine reads by itself. Should the main thread
not come back in time (it parses a vocabulary, it is blocked writing to a full pipe), the thread
ends the process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from nextok.cli.deadlines import Alarm, Deadlines
from nextok.cli.deadly_signals import DEADLY, can_take
from nextok.cli.ending import leave
from nextok.generation.abort import Abort
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.generation.events import Event

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KEYS = (signal.SIGINT, signal.SIGTSTP, signal.SIGCONT)
_PATIENCE_ENDS = 3
"""Presses of Ctrl-C during one generation that end the process."""

#: Seconds the main thread has to come back, first while there can be no answer yet (freeing a
#: large model takes the kernel long enough), and then to write its last bytes.
EARLY_GRACE = 0.02
GRACE = 0.1
FAREWELL = 0.4

_STOP, _LOOK_AGAIN = b"\0", b"\xff"
"""Words of the wake-up pipe that are no signal's number."""


class Keyboard(Protocol):
    """A terminal whose modes are ours while a reply is made."""

    def restore(self) -> None:
        """Give them back: the process is about to stop or to end."""

    def apply(self) -> None:
        """Take them again."""


class Watcher:
    """Watches from `start` to `stop`. `abort.reason` and `signal_number` say what happened."""

    def __init__(
        self,
        abort: Abort,
        deadlines: Deadlines,
        *,
        started: float,
        clock: Callable[[], float],
        output: int = 1,
        last_words: Callable[[FinishReason], None],
        keyboard: Keyboard | None = None,
        grace: float | None = None,
    ) -> None:
        """started: the process's start in `clock`'s seconds. output: the answer's descriptor.
        last_words: called before the process is ended without the main thread.
        keyboard: somebody sits at it: an interrupt ends the generation, not the process.
        grace: seconds the main thread has to come back whenever it is, if not the usual ones."""
        self.signal_number = 0
        self._keyboard = keyboard
        self._presses = 0
        self._handlers: dict[int, Any] = {}
        """What the signals did before."""
        self._abort = abort
        self._alarm = Alarm(deadlines, started=started, clock=clock)
        self._clock = clock
        self._output = output
        self._last_words = last_words
        self._graces = (EARLY_GRACE, GRACE) if grace is None else (grace, grace)
        self._is_loaded = False
        self._ends_at: float | None = None
        self._ours, self._wakeup = os.pipe()  # a socket pair would take 4 ms to import
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """Take over the signals that are not ignored, and begin."""
        os.set_blocking(self._wakeup, False)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        for number in self._taken:
            if can_take(number):  # nohup stays nohup
                self._handlers[number] = signal.signal(number, _leave_it_to_the_thread)
        self._thread.start()
        # From now on signals come to the thread: the main thread would take them only between two
        # system calls, and the engine maps or reads a large file in a single one.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._taken)

    def stop(self) -> None:
        """The answer is out. A signal that comes from now on is that of who took them before."""
        self._alarm.switch_off()
        self._ends_at = None
        os.write(self._wakeup, _STOP)
        self._thread.join()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self._ours)
        os.close(self._wakeup)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._taken)

    def came_back(self) -> None:
        """The main thread has seen the abort and only writes its last bytes."""
        if self._ends_at is not None:
            self._ends_at = self._clock() + FAREWELL

    @contextlib.contextmanager
    def excused(self) -> Iterator[None]:
        """Time that no deadline counts: a download's."""
        try:
            with self._alarm.excused():
                yield
        finally:
            os.write(self._wakeup, _LOOK_AGAIN)

    def watched(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events; the time spent waiting for them is the engine's."""
        from nextok.generation.events import Token

        self._is_loaded = True
        while True:
            self._alarm.engine_since = self._clock()
            event = next(events, None)
            self._alarm.engine_since = None
            if event is None:
                return
            self._alarm.has_token = self._alarm.has_token or isinstance(event, Token)
            yield event

    @property
    def _taken(self) -> tuple[int, ...]:
        """No signal may end us without giving back the modes of a keyboard."""
        return SIGNALS if self._keyboard is None else (*DEADLY, signal.SIGTSTP, signal.SIGCONT)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._ours, select.POLLIN)
        if _has_reader(self._output):
            poll.register(self._output, 0)  # asks for nothing, so only its end is reported
        while True:
            for descriptor, _ in poll.poll(self._patience()):
                if descriptor == self._output:
                    poll.unregister(self._output)
                    self._trip(FinishReason.DISCONNECTED)
                elif not self._signals(os.read(self._ours, 64)):
                    self._look_last()
                    return
            self._check_clock()

    def _look_last(self) -> None:
        """Signals that came with the word to stop; the next ones wait until they are unblocked."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self._taken)
        os.set_blocking(self._ours, False)
        with contextlib.suppress(BlockingIOError):
            self._signals(os.read(self._ours, 64))

    def _signals(self, numbers: bytes) -> bool:
        """Take the signals of the wake-up pipe; False if the word to stop is among them."""
        for number in numbers:
            if self._keyboard is not None and number in _KEYS:
                self._key(number, self._keyboard)
            elif number in self._taken:
                self._signal(number)
        return _STOP[0] not in numbers

    def _key(self, number: int, keyboard: Keyboard) -> None:
        """Ctrl-Z and what follows, or Ctrl-C: once for the generation, three times for all."""
        if number == signal.SIGTSTP:
            keyboard.restore()
            # To this thread, so that it does not run on; it stops them all, until `fg`.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            keyboard.apply()
            return
        if number == signal.SIGCONT:
            keyboard.apply()  # whoever stopped us otherwise may have changed them
            return
        self._presses += 1
        if self._presses == _PATIENCE_ENDS:
            self.signal_number = number
            self._end()
        self._abort.trip(FinishReason.INTERRUPTED)

    def _signal(self, number: int) -> None:
        if self.signal_number:
            self._end()  # the second time means at once
        self.signal_number = number
        self._trip(FinishReason.INTERRUPTED)

    def _trip(self, reason: FinishReason) -> None:
        if self._abort.reason is None:
            self._ends_at = self._clock() + self._graces[self._is_loaded]
            self._abort.trip(reason)

    def _check_clock(self) -> None:
        now = self._clock()
        if self._ends_at is not None and now >= self._ends_at:
            self._end()
        for at, reason in self._alarm.due():
            if now >= at:
                self._trip(reason)

    def _patience(self) -> float | None:
        """Milliseconds until the clock must be looked at again; None for ever."""
        times = [] if self._abort.reason is not None else [*self._alarm.looks()]
        if self._ends_at is not None:
            times.append(self._ends_at)
        return max(0.0, (min(times) - self._clock()) * 1000 + 1) if times else None

    def _end(self) -> None:
        reason = self._abort.reason or FinishReason.INTERRUPTED
        with contextlib.suppress(Exception):  # nothing may keep the process alive now
            if self._keyboard is not None:
                self._keyboard.restore()
            self._last_words(reason)
        leave(reason, self.signal_number)


def _leave_it_to_the_thread(number: int, frame: object) -> None:
    """Python's handler: it only has to exist for the wake-up descriptor to be written."""


def _has_reader(descriptor: int) -> bool:
    """Whether somebody at the other end can go away."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
