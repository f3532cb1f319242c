"""The one equation: time for N tokens = TTFT + (N-1) x ITL. Seconds throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Latency:
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


@dataclass(frozen=True, kw_only=True)
class Timings:
    """When things happened in one generation. Load, prefill and per-token time never mix."""

    prefill_seconds: float
    ttft_seconds: float | None
    """From the given origin (the model is loaded) to the first token sampled."""
    latency: Latency | None
    decode_tokens_per_second: float | None
    """(n-1) / (t_last - t_first); None with fewer than two tokens."""
    total_seconds: float


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Linear interpolation between the two nearest of the sorted values (numpy's default)."""
    position = (len(ordered) - 1) * percent / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


class Stopwatch:
    """Collects what Timings is made of, while it happens."""

    def __init__(self, origin: float) -> None:
        self.origin = origin
        self.prefill_seconds = 0.0
        self._first = 0.0
        self._last = 0.0
        self._gaps: list[float] = []
        self._tokens = 0

    def token(self, at: float, gap: float) -> None:
        """A token was sampled at `at`, `gap` seconds after the one before it."""
        if self._tokens == 0:
            self._first = at
        else:
            self._gaps.append(gap)
        self._last = at
        self._tokens += 1

    def timings(self, now: float) -> Timings:
        """All of it, at the end."""
        decoding = self._last - self._first
        return Timings(
            prefill_seconds=self.prefill_seconds,
            ttft_seconds=self._first - self.origin if self._tokens else None,
            latency=Latency.of(self._gaps),
            decode_tokens_per_second=(self._tokens - 1) / decoding if decoding > 0 else None,
            total_seconds=now - self.origin,
        )
