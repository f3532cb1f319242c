"""Running figures of one answer's tokens: what took how long so far, and what was unusual.

A token costs a binary search and an insertion. Knows nothing of terminals or of clocks.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from nextok.generation.events import Token
from nextok.generation.timings import STALL, percentile

RECENT = 40
"""Gaps that a reading remembers one by one."""
_ENOUGH = 5
"""Gaps before there is a median to compare with."""
_QUICK, _USUAL, _SLOW = 0.8, 1.25, 2.0
"""Times the median, like STALL."""


class Pace(Enum):
    """How a gap compares with the median of those before it."""

    QUICK = auto()
    USUAL = auto()
    SLOW = auto()
    LATE = auto()
    STALLED = auto()


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The gaps so far, in seconds."""

    last: float
    p50: float
    p95: float
    max: float


@dataclass(frozen=True, kw_only=True)
class Reading:
    """All figures at one moment."""

    tokens: int
    ttft_seconds: float
    spread: Spread | None
    """None without a gap."""
    tokens_per_second: float | None
    recent: tuple[tuple[float, Pace], ...]
    """The last gaps in seconds, the newest last."""
    pace: Pace
    """The last token's."""
    drafted: int
    """Tokens that speculation had guessed."""
    stalls: int


class LatencyMeter:
    """Takes the tokens of one answer."""

    def __init__(self) -> None:
        self.pace = Pace.USUAL
        """The last token's."""
        self._origin = 0.0
        self._first = 0.0
        self._last = 0.0
        self._tokens = 0
        self._drafted = 0
        self._stalls = 0
        self._gap = 0.0
        self._ordered: list[float] = []
        self._recent: deque[tuple[float, Pace]] = deque(maxlen=RECENT)

    def start(self, origin: float) -> None:
        """origin: when the waiting began, in the seconds of the tokens' clock."""
        self._origin = origin

    def token(self, token: Token) -> None:
        """The next one."""
        self._tokens += 1
        self._drafted += token.drafted
        self._last = token.at
        if self._tokens == 1:
            self._first = token.at
            return
        self._gap = gap = token.gap
        self.pace = pace = self._compared(gap)
        self._stalls += pace is Pace.STALLED
        insort(self._ordered, gap)
        self._recent.append((gap, pace))

    def reading(self) -> Reading | None:
        """None before the first token."""
        if not self._tokens:
            return None
        decoding = self._last - self._first
        return Reading(
            tokens=self._tokens,
            ttft_seconds=self._first - self._origin,
            spread=self._spread(),
            tokens_per_second=(self._tokens - 1) / decoding if decoding > 0 else None,
            recent=tuple(self._recent),
            pace=self.pace,
            drafted=self._drafted,
            stalls=self._stalls,
        )

    def _spread(self) -> Spread | None:
        ordered = self._ordered
        if not ordered:
            return None
        return Spread(
            last=self._gap,
            p50=percentile(ordered, 50),
            p95=percentile(ordered, 95),
            max=ordered[-1],
        )

    def _compared(self, gap: float) -> Pace:
        count = len(self._ordered)
        if count < _ENOUGH:
            return Pace.USUAL
        median = self._ordered[count // 2]
        if gap <= _USUAL * median:
            return Pace.QUICK if gap < _QUICK * median else Pace.USUAL
        if gap > STALL * median:
            return Pace.STALLED
        return Pace.SLOW if gap <= _SLOW * median else Pace.LATE
