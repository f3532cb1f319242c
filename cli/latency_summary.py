"""What is said of an answer's time when it is over: how long tokens took, where all of it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nextok.cli.latency_meter import LatencyMeter, Reading
from nextok.cli.report import Outcome, RunFacts
from nextok.generation.events import Event
from nextok.generation.finish import FinishReason
from nextok.generation.reasoning import Span
from nextok.generation.timings import Timings

_ALWAYS = ("prefill", "decode")
"""The parts of an account that are worth a figure when they are next to nothing."""
_NOTHING = 0.005
"""Seconds; less would be 0.00."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the summary has to say, and others do not."""

    load: bool = True
    """Whether the model was loaded for this answer."""
    rates: bool = True
    """TTFT and tokens/s."""


class LatencySummary:
    """An answer's last consumer: lines of figures at its end."""

    def __init__(self, meter: LatencyMeter, say: Callable[[str], None], said: Said) -> None:
        self._meter = meter
        self._say = say
        self._said = said

    def start(self, facts: RunFacts, origin: float) -> None:
        """Nothing is said before the end."""

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        """Nothing is said before the end."""

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        finish = outcome.finish
        if finish.reason is FinishReason.DISCONNECTED:
            return
        load = facts.load_seconds if self._said.load else None
        start = facts.start_seconds if self._said.load else None
        tokens = tokens_line(finish.timings, self._meter.reading(), rates=self._said.rates)
        account = account_line(finish.timings, finish.completion_tokens, load, start)
        for line in (tokens, account):
            if line:
                self._say(line)

    def fail(self, message: str, code: int) -> None:
        """There are no figures."""


def tokens_line(timings: Timings, reading: Reading | None, *, rates: bool = True) -> str:
    """How long tokens took; empty when there was none."""
    parts: list[str] = []
    if rates and timings.ttft_seconds is not None:
        parts.append(f"TTFT {timings.ttft_seconds:.3f} s")
    if timings.latency is not None:
        spread = timings.latency
        parts.append(
            f"ITL p50 {spread.p50 * 1000:.1f} p95 {spread.p95 * 1000:.1f} "
            f"max {spread.max * 1000:.1f} ms"
        )
    if rates and timings.decode_tokens_per_second is not None:
        parts.append(f"{timings.decode_tokens_per_second:.1f} tokens/s")
    if reading is not None and reading.drafted:
        parts.append(f"{reading.drafted} of {reading.tokens} tokens drafted")
    if reading is not None and reading.stalls:
        word = "stall" if reading.stalls == 1 else "stalls"
        parts.append(f"{reading.stalls} {word}")
    return " · ".join(parts)


def account_line(
    timings: Timings,
    tokens: int,
    load_seconds: float | None,
    start_seconds: float | None = None,
) -> str:
    """Where the time went, all of it. Decode is the gaps and what came after the last token.

    start_seconds: from the process's start until the load.
    """
    gaps = timings.decode_seconds(tokens) or 0.0
    before = {"start": start_seconds or 0.0, "load": load_seconds or 0.0}
    parts = {
        **before,
        "queue": timings.queue_seconds,
        "prefill": timings.prefill_seconds,
        "first token": timings.first_sample_seconds,
        "decode": gaps + timings.ending_seconds,
        "rendering": timings.rendering_seconds,
    }
    shown = [
        f"{name} {seconds:.2f}"
        for name, seconds in parts.items()
        if seconds >= _NOTHING or name in _ALWAYS
    ]
    total = timings.total_seconds + sum(before.values())
    return f"{' + '.join(shown)} = {total:.2f} s"
