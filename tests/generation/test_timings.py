"""Time for N tokens = TTFT + (N-1) x ITL, by a clock of our own."""

from __future__ import annotations

import pytest

from nextok.generation.timings import Latency, Stopwatch, percentile


def test_rates_and_percentiles_come_from_the_tokens_alone() -> None:
    watch = Stopwatch(origin=10.0)
    watch.prefill_seconds = 2.0
    for at, gap in [(12.5, 0.0), (12.6, 0.1), (12.9, 0.3), (13.1, 0.2)]:
        watch.token(at, gap)
    timings = watch.timings(now=13.5)
    assert timings.ttft_seconds == 2.5
    assert timings.decode_tokens_per_second == pytest.approx(3 / 0.6)
    assert timings.latency == Latency(
        mean=pytest.approx(0.2), p50=0.2, p95=pytest.approx(0.29), p99=pytest.approx(0.298), max=0.3
    )
    assert timings.total_seconds == 3.5
    assert timings.prefill_seconds == 2.0


def test_one_token_has_no_rate() -> None:
    watch = Stopwatch(origin=0.0)
    watch.token(1.0, 0.0)
    timings = watch.timings(now=1.0)
    assert timings.ttft_seconds == 1.0
    assert timings.latency is None
    assert timings.decode_tokens_per_second is None


def test_no_token_has_no_first() -> None:
    timings = Stopwatch(origin=0.0).timings(now=4.0)
    assert timings.ttft_seconds is None
    assert timings.total_seconds == 4.0


def test_percentiles_interpolate() -> None:
    assert percentile([1, 2, 3, 4], 50) == 2.5
    assert percentile([7], 99) == 7
