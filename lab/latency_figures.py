"""What a plot of latencies says, in numbers: series, axes, percentiles, stalls.

The same for a picture and for a terminal; knows neither.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nextok.generation.timings import STALL, Latency, percentile
from nextok.lab.axis import Axis, histogram, linear, logarithmic
from nextok.lab.run_title import common, telling, title
from nextok.lab.trace_file import TraceFile
from nextok.lab.traced_generation import Generation

STALL_TEXT = f"stall: a gap over {STALL:g} × the median"
_SPREAD = 4.0
"""Times the smallest median: gaps over that are seen on a logarithmic axis only."""
HEADS = ("tokens", "prefill ms", "TTFT ms", "p50 ms", "p95 ms", "p99 ms", "max ms", "stalls", "end")
"""What stands in the cells of a series."""
_UNKNOWN = "-"
_FEWEST_BINS, _MOST_BINS = 16, 120


@dataclass(frozen=True, kw_only=True)
class Series:
    """One generation to draw: it has at least one gap."""

    label: str
    """What tells it from the others."""
    generation: Generation
    gaps_ms: tuple[float, ...]
    latency_ms: Latency
    """In milliseconds, unlike Latency elsewhere."""
    stalls: tuple[int, ...]
    """Positions in `gaps_ms`."""

    @property
    def points(self) -> list[tuple[float, float]]:
        """Token index and gap in ms."""
        return list(zip(self.generation.indexes, self.gaps_ms, strict=True))

    @property
    def stall_points(self) -> list[tuple[float, float]]:
        """Those of them that are stalls."""
        points = self.points
        return [points[place] for place in self.stalls]

    @property
    def thread_marks(self) -> list[tuple[int, str]]:
        """The token index from which on another number of threads computed, and that number."""
        last = self.generation.indexes[-1]
        return [
            (one.index, f"{one.threads} thread{'' if one.threads == 1 else 's'}")
            for one in self.generation.thread_changes
            if one.index <= last
        ]

    @property
    def percentiles_ms(self) -> tuple[tuple[str, float], ...]:
        """The three that are marked, ascending."""
        spread = self.latency_ms
        return ("p50", spread.p50), ("p95", spread.p95), ("p99", spread.p99)

    def shares(self, axis: Axis, bins: int) -> list[float]:
        """A histogram: percent of its gaps in each of the bins of the axis."""
        counts = histogram(self.gaps_ms, axis, bins)
        return [100 * count / len(self.gaps_ms) for count in counts]

    @property
    def cells(self) -> tuple[str, ...]:
        """Its figures, in the order of HEADS."""
        known, spread = self.generation, self.latency_ms
        times = (_in_ms(known.prefill_seconds), _in_ms(known.ttft_seconds))
        gaps = (spread.p50, spread.p95, spread.p99, spread.max)
        return (
            f"{known.tokens:,}",
            *(_UNKNOWN if one is None else milliseconds(one) for one in (*times, *gaps)),
            f"{len(self.stalls):,}",
            known.ending or "unfinished",
        )


def all_series(traces: Sequence[TraceFile]) -> list[Series]:
    """The generations that have a gap, each with a label that tells it from the others."""
    drawn = [one for trace in traces for one in trace.generations if one.gaps]
    names = _names([trace.path for trace in traces])
    shared = common(drawn)
    made: list[Series] = []
    for trace in traces:
        name = [names[trace.path]] if len(traces) > 1 or len(drawn) == 1 else []
        for number, generation in enumerate(trace.generations, 1):
            part = [_part(number, generation)] if len(trace.generations) > 1 else []
            label = " · ".join([*name, *part, *telling(generation, shared)])
            made += _series(label, generation)
    return made


def heading(series: Sequence[Series]) -> tuple[str, str]:
    """What is drawn, and the settings all share: two lines, the second perhaps empty."""
    model, settings = title([one.generation for one in series])
    return "Inter-token latency" + (f" of {model}" if model else ""), settings


def gap_axis(series: Sequence[Series]) -> Axis:
    """Milliseconds: logarithmic where a linear axis would press most of the gaps together."""
    gaps = [gap for one in series for gap in one.gaps_ms]
    medians = [one.latency_ms.p50 for one in series if one.latency_ms.p50 > 0]
    if medians and max(gaps) > _SPREAD * min(medians):
        return logarithmic(gaps)
    return linear(gaps)


def gap_label(axis: Axis) -> str:
    """Its title, with the unit."""
    return f"gap between tokens (ms{', log scale' if axis.log else ''})"


def token_axis(series: Sequence[Series]) -> Axis:
    """Token indexes, from 0."""
    last = max(max(one.generation.indexes) for one in series)
    return Axis(low=0, high=last * 1.03, whole=True)


def bin_count(series: Sequence[Series], axis: Axis) -> int:
    """Bins of the whole axis: Freedman and Diaconis' number, within what can be seen."""
    return min(_MOST_BINS, max(_FEWEST_BINS, *(_wanted_bins(one, axis) for one in series)))


def _wanted_bins(one: Series, axis: Axis) -> int:
    ordered = sorted(one.gaps_ms)
    lower, upper = (axis.position(percentile(ordered, part)) for part in (25, 75))
    width = 2 * (upper - lower) / math.pow(len(ordered), 1 / 3)
    return round(1 / width) if width > 1 / _MOST_BINS else _MOST_BINS


def milliseconds(value: float) -> str:
    """Three digits that count: 0.366, 4.71, 20.9, 1,203."""
    decimals = 3 if value < 1 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{decimals}f}"


def _series(label: str, generation: Generation) -> Iterator[Series]:
    """One, or none without a gap."""
    gaps = tuple(round(gap * 1000, 6) for gap in generation.gaps)  # a nanosecond is noise
    spread = Latency.of(gaps)
    if spread is not None:
        least = STALL * spread.p50
        yield Series(
            label=label,
            generation=generation,
            gaps_ms=gaps,
            latency_ms=spread,
            stalls=tuple(place for place, gap in enumerate(gaps) if gap > least > 0),
        )


def _part(number: int, generation: Generation) -> str:
    return f"answer {number}" if generation.turn is None else f"turn {generation.turn}"


def _names(paths: Sequence[str]) -> dict[str, str]:
    """The files' own names, or whole paths where those are not enough."""
    short = {path: os.path.basename(path) or path for path in paths}
    return short if len(set(short.values())) == len(short) else {path: path for path in paths}


def _in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
