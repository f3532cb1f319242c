"""What `nextok stats` shows in a terminal: how generations ended, how long they were, how fast.

Lines of text from figures; the terminal's width, signs and colours are arguments.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from nextok.backends.journal_statistics import ABORTED, ModelLatency, Saved, Spread, Statistics
from nextok.backends.length_distribution import Bin, Lengths
from nextok.cli.bars import bar
from nextok.cli.console import one_line
from nextok.cli.stats_report import LONGEST, PERCENTS, Reported, percent
from nextok.cli.terminal_plot import styled
from nextok.cli.terminal_signs import Signs
from nextok.cli.units import duration
from nextok.generation.finish import FinishReason

NARROWEST, WIDEST = 40, 100
"""Columns of a page."""
_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = (
    f"\x1b[{code}m" for code in ("1", "2", "31", "32", "33", "36")
)
_GOOD = (FinishReason.EOS.value, FinishReason.STOP.value, FinishReason.LENGTH.value)
_ABORTED = tuple(reason.value for reason in ABORTED)
_COLUMN = 8
"""Of a time."""
_FAIR = "ITL is the median generation's, its max the longest gap of all"
_UNITS = re.compile("(?<=[0-9]) (?=[a-z%])")
"""A space that no line ends at."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What there is to draw on."""

    columns: int
    signs: Signs
    fine: bool
    """Whether it has characters for parts of a column."""
    color: bool

    @property
    def width(self) -> int:
        """Of the page."""
        return min(WIDEST, max(NARROWEST, self.columns))


def page(reported: Reported, look: Look) -> list[str]:
    """All of it, section by section."""
    return _Page(reported.statistics, look).lines(_about(reported))


def _about(reported: Reported) -> str:
    found = reported.statistics
    parts = [_counted(found.generations, "generation"), f"{found.lengths.total:,} tokens"]
    if reported.only_model is not None and len(found.latencies) == 1:
        parts.append(one_line(found.latencies[0].model.name))
    if reported.since is not None:
        parts.append(f"since {datetime.fromtimestamp(reported.since):%Y-%m-%d %H:%M}")
    return " · ".join(parts)


class _Page:
    """Lines in one look."""

    def __init__(self, found: Statistics, look: Look) -> None:
        self._found = found
        self._look = look

    def lines(self, about: str) -> list[str]:
        return [
            *self._said(about, _BOLD),
            "",
            *self._title("How they ended"),
            *self._endings(),
            *self._aborting(),
            "",
            *self._title("Output length in tokens"),
            *self._histogram(self._found.lengths),
            *self._lengths(self._found.lengths),
            *self._latencies(),
        ]

    # How they ended.

    def _endings(self) -> Iterator[str]:
        found, most = self._found, max(self._found.finishes.values())
        names = max(map(len, found.finishes))
        counts = max(len(f"{most:,}"), 3)
        room = self._look.width - names - counts - 15
        for finish, count in found.finishes.items():
            share = percent(count, found.generations)
            drawn = bar(count, most, room, fine=self._look.fine)
            yield self._line(f"  {finish:{names}}  {count:{counts},}  {share:>7} ", drawn, finish)

    def _line(self, head: str, drawn: str, finish: str) -> str:
        ink = _GREEN if finish in _GOOD else _YELLOW if finish in _ABORTED else _RED
        return head + self._in(drawn, ink)

    def _aborting(self) -> Iterator[str]:
        found = self._found
        if not found.aborted:
            return
        which = [f"{count:,} {name}" for name, count in found.finishes.items() if name in _ABORTED]
        share = percent(found.aborted, found.generations)
        yield ""
        yield from self._said(f"{found.aborted:,} aborted ({share}): {', '.join(which)}")
        if found.saved.aborted:
            yield from self._said(_saving(found.saved))
            yield from self._said(_ground(found.saved), _DIM)

    # How long they were.

    def _histogram(self, lengths: Lengths) -> Iterator[str]:
        bins = lengths.bins()
        names = [_range(one) for one in bins]
        marks = [_marks(one, lengths) for one in bins]
        margin = max(map(len, names))
        most = max(one.count for one in bins)
        counts = len(f"{most:,}")
        beside = max(len(mark) for mark in marks)
        room = self._look.width - margin - counts - beside - 7
        for one, name, mark in zip(bins, names, marks, strict=True):
            drawn = bar(one.count, most, room, fine=self._look.fine)
            count = f"{one.count:,}" if one.count else ""
            head = f"  {name:>{margin}} {self._in(self._look.signs.side, _DIM)}"
            tail = f" {count}{'  ' if mark else ''}{self._in(mark, _DIM)}"
            yield (head + self._in(drawn, _CYAN) + tail).rstrip()

    def _lengths(self, lengths: Lengths) -> Iterator[str]:
        figures = [f"p{name} {lengths.percentile(name):,.0f}" for name in PERCENTS]
        figures += [f"max {lengths.longest:,}", f"mean {lengths.total / lengths.count:,.0f}"]
        yield ""
        yield from self._said(" · ".join(figures))
        most, share = lengths.longest_ones(LONGEST)
        if share is not None:
            yield from self._said(
                f"the longest {LONGEST} % ({_counted(most, 'generation')}) "
                f"took {100 * share:.1f} % of all tokens"
            )

    # How fast they were.

    def _latencies(self) -> Iterator[str]:
        shown = [one for one in self._found.latencies if one.ttft or one.itl]
        if not shown:
            return
        yield ""
        yield from self._title("Latency by model (generations)")
        heads = "".join(f"{head:>{_COLUMN}}" for head in ("p50", "p95", "p99", "max"))
        yield self._in(f"{'':6}{heads}", _DIM)
        for one in shown:
            yield from self._said(_titled(one))
            for title, spread in (("TTFT", one.ttft), ("ITL", one.itl)):
                if spread is not None:
                    yield f"  {title:4}{_cells(spread)}"
        yield ""
        yield from self._said(_FAIR, _DIM)

    # What all lines share.

    def _title(self, text: str) -> Iterator[str]:
        yield self._in(text, _BOLD)

    def _said(self, text: str, style: str = "") -> Iterator[str]:
        """Folded between words, but no number from its unit."""
        text = text.replace(" · ", f" {self._look.signs.dot} ")
        indent = 0 if style == _BOLD else 2
        for line in textwrap.wrap(_UNITS.sub("\xa0", text), self._look.width - indent) or [""]:
            yield self._in(" " * indent + line.replace("\xa0", " "), style)

    def _in(self, text: str, style: str) -> str:
        return styled(text, style if self._look.color else "")


def _saving(saved: Saved) -> str:
    low, high = duration(saved.low), duration(saved.high)
    return f"aborting saved about {duration(saved.seconds)} of compute ({low} to {high})"


def _ground(saved: Saved) -> str:
    """What the estimate rests on."""
    ground = (
        f"an estimate: what {_counted(saved.completed, 'completed generation')} of the same "
        "models still said from that length on (median; quartiles), times the model's ITL"
    )
    if not saved.unknown:
        return ground
    return f"{ground}; without {saved.unknown:,} that got further than any completed one"


def _range(one: Bin) -> str:
    return f"{one.low}" if one.low == one.high else f"{one.low}-{one.high}"


def _marks(one: Bin, lengths: Lengths) -> str:
    """Which percentiles lie in this bin."""
    return " ".join(
        f"p{name}"
        for name in PERCENTS
        if one.low <= round(lengths.percentile(name) or 0) <= one.high
    )


def _titled(one: ModelLatency) -> str:
    name, kind = one_line(one.model.name), one.model.quantization
    told = f" {kind}" if kind and kind.casefold() not in name.casefold() else ""
    return f"{name}{told} ({one.generations:,})"


def _cells(spread: Spread) -> str:
    values: Sequence[float] = (spread.p50, spread.p95, spread.p99, spread.max)
    return "".join(f"{brief(value):>{_COLUMN}}" for value in values)


def brief(seconds: float) -> str:
    """A short time with its unit, in at most seven columns: 8.3 ms, 120 ms, 1.23 s, 12.3 s."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 10_000 else f"{seconds / 3600:.0f} h"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
