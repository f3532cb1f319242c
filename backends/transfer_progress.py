"""What is told about a file that is being fetched, and how its rate is measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

_WINDOW_SECONDS = 5.0
_LEAST_SECONDS = 0.1
"""Between two events of the same stage."""


class Stage(Enum):
    """What is being done for a file at the moment."""

    WAITING = "waiting"
    """Another process is fetching the same file."""
    CHECKING = "checking"
    """What an earlier run left, or a copy already here, is being read again."""
    FETCHING = "fetching"
    RETRYING = "retrying"
    """After trouble; `notice` says which, `retry_seconds` when."""
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far one file is. Comes about four times a second while something is awaited."""

    file: str
    """Its path in the repository."""
    part: int
    parts: int
    """Which file of how many, from 1."""
    stage: Stage
    done: int
    total: int
    """Bytes."""
    resumed: int
    """Of `done`, the bytes an earlier run brought."""
    rate: float | None
    """Bytes a second over the last seconds; None at first."""
    seconds_left: float | None
    idle_seconds: float
    """Since the last byte came."""
    retry_seconds: float
    """Until the next attempt, in RETRYING."""
    attempt: int
    """Of the present piece, from 1: starts again whenever bytes come."""
    notice: str | None
    """One line for the user, without secrets: the trouble, or whom it waits for."""


Listener = Callable[[Progress], None]


class Reporter:
    """Makes the events of one file, not more of them than anybody can see."""

    def __init__(
        self,
        listener: Listener,
        clock: Callable[[], float],
        *,
        file: str,
        total: int,
        part: int = 1,
        parts: int = 1,
    ) -> None:
        self.done = 0
        self.resumed = 0
        self.attempt = 1
        self._listener, self._clock = listener, clock
        self._file, self._total, self._part, self._parts = file, total, part, parts
        self._stage: Stage | None = None
        self._told = self._last_byte = clock()
        self._points: deque[tuple[float, int]] = deque()

    def begin(self, done: int) -> None:
        """The first byte is awaited, after so many."""
        self.done = done
        self._last_byte = self._clock()
        self._points = deque([(self._last_byte, done)])

    def add(self, count: int) -> None:
        """So many bytes came."""
        self.done += count
        self._last_byte = now = self._clock()
        self._points.append((now, self.done))
        while self._points[0][0] < now - _WINDOW_SECONDS:
            self._points.popleft()
        self.tell(Stage.FETCHING)

    def tell(self, stage: Stage, notice: str | None = None, retry_seconds: float = 0.0) -> None:
        """An event, unless one of the same stage was only just told."""
        now = self._clock()
        if stage is self._stage and now - self._told < _LEAST_SECONDS:
            return
        self._stage, self._told = stage, now
        rate = self._rate(now) if stage is Stage.FETCHING else None
        left = self._total - self.done
        self._listener(
            Progress(
                file=self._file,
                part=self._part,
                parts=self._parts,
                stage=stage,
                done=self.done,
                total=self._total,
                resumed=self.resumed,
                rate=rate,
                seconds_left=left / rate if rate else None,
                idle_seconds=now - self._last_byte,
                retry_seconds=retry_seconds,
                attempt=self.attempt,
                notice=notice,
            )
        )

    def _rate(self, now: float) -> float | None:
        """Over the last seconds, silence included."""
        if len(self._points) < 2:
            return None
        since, done = self._points[0]
        return (self.done - done) / (now - since) if now > since else None
