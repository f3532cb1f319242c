"""The distribution of output lengths as bars in a terminal, and its figures in words."""

from __future__ import annotations

from collections.abc import Iterator

from nextok.backends.length_distribution import Bin, Lengths
from nextok.cli.stats_look import CYAN, DIM, Look, counted
from nextok.cli.stats_report import LONGEST, PERCENTS

_LEAST_ROOM = 4
"""Columns of a bar beside which there is room for words."""
_SPACE = 7
"""Columns of a line that are neither a name nor a bar nor a figure."""


def histogram(lengths: Lengths, look: Look) -> Iterator[str]:
    """A line a bin: its range, a bar, how many there are, and which percentiles lie in it."""
    bins = lengths.bins()
    names = [_range(one) for one in bins]
    marks = [_marks(one, lengths) for one in bins]
    margin = max(map(len, names))
    most = max(one.count for one in bins)
    room = look.width - margin - len(f"{most:,}") - _SPACE
    if room - max(map(len, marks)) >= _LEAST_ROOM:
        room -= max(map(len, marks))
    else:
        marks = [""] * len(bins)
    for one, name, mark in zip(bins, names, marks, strict=True):
        head = f"  {name:>{margin}} {look.inked(look.signs.side, DIM)}"
        count = f" {one.count:,}" if one.count else ""
        tail = look.inked(f"  {mark}", DIM) if mark else ""
        yield head + look.bar(one.count, most, max(1, room), CYAN) + count + tail


def figures(lengths: Lengths, look: Look) -> Iterator[str]:
    """Percentiles, and what the longest take."""
    told = [f"p{name} {lengths.percentile(name):,.0f}" for name in PERCENTS]
    told += [f"max {lengths.longest:,}", f"mean {lengths.total / lengths.count:,.0f}"]
    yield from look.said(" · ".join(told))
    most, share = lengths.longest_ones(LONGEST)
    if share is not None:
        yield from look.said(
            f"the longest {LONGEST} % ({counted(most, 'generation')}) "
            f"took {100 * share:.1f} % of all tokens"
        )


def _range(one: Bin) -> str:
    return f"{one.low}" if one.low == one.high else f"{one.low}-{one.high}"


def _marks(one: Bin, lengths: Lengths) -> str:
    """Which percentiles lie in this bin."""
    return " ".join(
        f"p{name}"
        for name in PERCENTS
        if one.low <= round(lengths.percentile(name) or 0) <= one.high
    )
