"""The one equation: time for N tokens = TTFT + (N-1) x ITL. Seconds throughout."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple


class _Part(Enum):
    """What the engine's time goes to, but for the gaps."""

    QUEUE = auto()
    PREFILL = auto()
    FIRST_SAMPLE = auto()
    ENDING = auto()


STALL = 5.0
"""Times the median: a longer gap is a stall."""


class Latency(NamedTuple):
    """The distribution of inter-token latencies, in seconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, gaps: Sequence[float]) -> Latency | None:
        """None without a gap: one token has no latency between tokens."""
        if not gaps:
            return None
        ordered = sorted(gaps)
        return cls(
            mean=sum(ordered) / len(ordered),
            p50=percentile(ordered, 50),
            p95=percentile(ordered, 95),
            p99=percentile(ordered, 99),
            max=ordered[-1],
        )


class Timings(NamedTuple):
    """When things happened in one generation: parts that never mix, and that add up.

    queue + prefill + first sample + all gaps + ending + rendering = total, in seconds.
    """

    queue_seconds: float
    """From the given origin (the model is loaded, the message is sent) to the prefill's start:
    the template, the context, the sampler."""
    prefill_seconds: float
    first_sample_seconds: float
    """From the prefill's end to the first token: it is only drawn."""
    latency: Latency | None
    """Of the gaps between tokens: the engine's time, without the consumer's."""
    ending_seconds: float
    """After the last token: the decode that found the end, or was cut."""
    rendering_seconds: float
    """What putting tokens into words and the consumer of the events took between two of them."""
    ttft_seconds: float | None
    """From the origin to the first token sampled, whatever the time went to."""
    decode_tokens_per_second: float | None
    """(n-1) / (t_last - t_first), rendering included; None with fewer than two tokens."""
    total_seconds: float
    """From the origin to the end."""

    def decode_seconds(self, tokens: int) -> float | None:
        """The sum of the gaps between that many tokens; None without one."""
        return None if self.latency is None else self.latency.mean * (tokens - 1)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Linear interpolation between the two nearest of the sorted values (numpy's default)."""
    position = (len(ordered) - 1) * percent / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


class Stopwatch:
    """Collects what Timings is made of, while it happens. All times in one clock's seconds."""

    def __init__(self, origin: float) -> None:
        self._origin = origin
        self._parts = dict.fromkeys(_Part, 0.0)
        self._part = _Part.QUEUE
        """What the engine is at."""
        self._rendering = 0.0
        self._taken = 0.0
        """Of the rendering, what came after `_mark`."""
        self._mark = origin
        """Up to here all time is somebody's."""
        self._passed, self._shown = 1.0, 0.0
        """The time between the last two steps, and what the consumer took of it."""
        self._first = 0.0
        self._gaps: list[float] = []
        self._tokens = 0

    def prefill(self, now: float, *, done: bool) -> None:
        """The prefill begins, goes on, or is done."""
        self._lap(now)
        self._part = _Part.FIRST_SAMPLE if done else _Part.PREFILL

    def token(self, at: float, gap: float) -> float:
        """A token was sampled at `at`, `gap` seconds after the one before it; the engine's part.

        Tokens that one step yielded have the same `at`, and share what the step took.
        """
        self._tokens += 1
        if self._tokens == 1:
            self._lap(at)
            self._part, self._first = _Part.ENDING, at
            return gap
        passed = at - self._mark
        if passed > 0:
            self._passed, self._shown = passed, min(self._taken, passed)
            self._mark, self._taken = at, 0.0
        gap -= self._shown * (gap / self._passed)
        self._gaps.append(gap)
        return gap

    def rendered(self, seconds: float) -> None:
        """Putting it into words and the consumer have taken so long over an event."""
        self._rendering += seconds
        self._taken += seconds

    def timings(self, now: float) -> Timings:
        """All of it, at the end."""
        decoding = self._mark - self._first
        self._lap(now)
        return Timings(
            queue_seconds=self._parts[_Part.QUEUE],
            prefill_seconds=self._parts[_Part.PREFILL],
            first_sample_seconds=self._parts[_Part.FIRST_SAMPLE],
            latency=Latency.of(self._gaps),
            ending_seconds=self._parts[_Part.ENDING],
            rendering_seconds=self._rendering,
            ttft_seconds=self._first - self._origin if self._tokens else None,
            decode_tokens_per_second=(
                (self._tokens - 1) / decoding if self._tokens > 1 and decoding > 0 else None
            ),
            total_seconds=now - self._origin,
        )

    def _lap(self, now: float) -> None:
        """The time since the mark was the engine's, but for what the consumer took."""
        self._parts[self._part] += max(0.0, now - self._mark - self._taken)
        self._mark, self._taken = now, 0.0
