"""The statistics of the journal for a program: one JSON object, or names and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from nextok.backends.journal_statistics import ABORTED, ModelLatency, Saved, Spread, Statistics
from nextok.backends.length_distribution import Lengths
from nextok.cli.table import Row
from nextok.cli.units import brief, duration
from nextok.generation.finish import FinishReason

LONGEST = 1
"""Percent of the generations whose share of all tokens is told."""
PERCENTS = (50, 95, 99)
MEDIAN_ITL = "the median generation's; max is the longest gap of all"
"""What an ITL is of many generations."""


@dataclass(frozen=True, kw_only=True)
class Reported:
    """Statistics, and what they are about."""

    statistics: Statistics
    since: float | None
    only_model: str | None


def as_json(reported: Reported) -> Mapping[str, object]:
    """Seconds and milliseconds as the keys say; null where there is nothing to tell."""
    found = reported.statistics
    return {
        "since": None if reported.since is None else utc(reported.since),
        "generations": found.generations,
        "finish_reasons": {**{reason.value: 0 for reason in FinishReason}, **found.finishes},
        "aborted": {
            "generations": found.aborted,
            "rate": rate(found.aborted, found.generations),
            "saved": _saved(found.saved),
        },
        "completion_tokens": _lengths(found.lengths),
        "models": [_model(one) for one in found.latencies],
    }


def as_rows(reported: Reported) -> list[Row]:
    """For a pipe: the same figures, a line each."""
    return [*_endings(reported.statistics), *_sizes(reported.statistics.lengths), *_times(reported)]


def utc(moment: float) -> str:
    """A moment as JSON has it."""
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")


def rate(part: int, whole: int) -> float | None:
    """A share, from 0 to 1; None of nothing."""
    return round(part / whole, 6) if whole else None


def percent(part: int, whole: int) -> str:
    """A share as people read it: 14.2 %."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _saved(saved: Saved) -> Mapping[str, object] | None:
    if not saved.aborted:
        return None
    return {
        "estimate": True,
        "seconds": round(saved.seconds, 3),
        "quartiles_s": [round(saved.low, 3), round(saved.high, 3)],
        "generations": saved.aborted,
        "without_an_estimate": saved.unknown,
        "compared_with": saved.completed,
    }


def _lengths(lengths: Lengths) -> Mapping[str, object]:
    most, share = lengths.longest_ones(LONGEST)
    return {
        "total": lengths.total,
        "mean": round(lengths.total / lengths.count, 3) if lengths.count else None,
        **{f"p{percent}": lengths.percentile(percent) for percent in PERCENTS},
        "max": lengths.longest,
        "longest_1_percent": {
            "generations": most,
            "share": None if share is None else round(share, 6),
        },
        "histogram": [
            {"from": one.low, "to": one.high, "generations": one.count} for one in lengths.bins()
        ],
    }


def _model(one: ModelLatency) -> Mapping[str, object]:
    return {
        "model": one.model.name,
        "quantization": one.model.quantization,
        "generations": one.generations,
        "ttft_s": _spread(one.ttft, 1, 4),
        "itl_ms": _spread(one.itl, 1000, 3),
    }


def _spread(spread: Spread | None, unit: float, digits: int) -> Mapping[str, float] | None:
    if spread is None:
        return None
    values = {"p50": spread.p50, "p95": spread.p95, "p99": spread.p99, "max": spread.max}
    return {name: round(value * unit, digits) for name, value in values.items()}


def _endings(found: Statistics) -> Iterator[Row]:
    yield "generations", str(found.generations)
    for finish, count in found.finishes.items():
        yield f"ended {finish}", f"{count} ({percent(count, found.generations)})"
    which = ", ".join(reason.value for reason in ABORTED)
    yield "aborted", f"{found.aborted} ({percent(found.aborted, found.generations)}; {which})"
    saved = found.saved
    if saved.aborted:
        between = f"quartiles {_span(saved.low)} to {_span(saved.high)}"
        how = f"an estimate for {saved.aborted} of them from {saved.completed} completed, {between}"
        yield "saved by aborting", f"{_span(saved.seconds)} ({how})"


def _sizes(lengths: Lengths) -> Iterator[Row]:
    most, share = lengths.longest_ones(LONGEST)
    yield "tokens", str(lengths.total)
    for name in PERCENTS:
        yield f"tokens p{name}", f"{lengths.percentile(name):.0f}"
    yield "tokens max", str(lengths.longest)
    if share is not None:
        yield f"tokens of the longest {LONGEST} %", f"{100 * share:.1f} % (generations: {most})"
    for one in lengths.bins():
        upto = f"-{one.high}" if one.high > one.low else ""
        yield f"with {one.low}{upto} tokens", str(one.count)


def _times(reported: Reported) -> Iterator[Row]:
    for one in reported.statistics.latencies:
        for title, spread in (("TTFT", one.ttft), ("ITL", one.itl)):
            if spread is not None:
                figures = ", ".join(
                    f"{name} {brief(value)}"
                    for name, value in (
                        ("p50", spread.p50), ("p95", spread.p95),
                        ("p99", spread.p99), ("max", spread.max),
                    )
                )  # fmt: skip
                what = f" ({MEDIAN_ITL})" if title == "ITL" else ""
                yield f"{title} {one.model.name}", figures + what


def _span(seconds: float) -> str:
    """A long time as on the terminal, a short one to a tenth of a second."""
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
