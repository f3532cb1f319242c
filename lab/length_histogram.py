"""The histogram of lengths with its fits, as data. Knows figures only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nextok.lab.chart import Chart, Series
from nextok.lab.length_sample import Floats, Integers
from nextok.lab.length_study import Ranked, Study

SEEN = "seen"
"""What is no fit."""
CURVE = 240
"""Points of a smooth line."""
_FEWEST_BINS, _MOST_BINS = 12, 60
_SHOWN = 0.995
"""Of the answers that are shown: a few that are far longer would press it flat."""


def histogram(study: Study, notes: tuple[str, ...]) -> Chart:
    """Shares in bins of equal width, and what each fit expects there."""
    sample = study.sample
    tokens = np.sort(np.array(study.data.tokens))
    cut_at = _cut_at(study)
    edges = _edges(tokens, *(int(at) for at, _ in cut_at))
    counts, _ = np.histogram(tokens, bins=edges)
    middles = (edges[:-1] + edges[1:]) / 2
    hidden = int((tokens > edges[-1]).sum())
    width = int(edges[1] - edges[0])
    lines = [_windows(one, edges, width) for one in study.ranked]
    more = (f"{hidden:,} longer ones are not shown.",) if hidden else ()
    bars = Series(
        label=SEEN, x=middles.tolist(), y=(100 * counts / sample.count).tolist(), kind="bars"
    )
    return Chart(
        name="histogram",
        title="How long answers are",
        x_label="length of the answer (tokens)",
        y_label=f"share of answers in {width:,} token{'s' * (width > 1)} (%)",
        series=(bars, *lines),
        notes=(*notes, *more),
        marks=cut_at,
        y_range=(0.0, 1.12 * max(float(counts.max()) / sample.count * 100, _highest(lines))),
    )


def _cut_at(study: Study) -> tuple[tuple[float, str], ...]:
    """Where answers were cut, if that was at one length."""
    where = np.flatnonzero(study.sample.cut)
    return ((float(study.sample.lengths[where[0]]), "cut here"),) if len(where) == 1 else ()


def _windows(one: Ranked, edges: Floats, width: int) -> Series:
    """Of every window as wide as a bin, so that the line is smooth: its share."""
    starts = np.unique(np.linspace(edges[0], edges[-1] - width, CURVE).round() - 0.5)
    share = one.fit.below(starts + width - 0.5) - one.fit.below(starts - 0.5)
    return Series(label=label(one), x=(starts + width / 2).tolist(), y=(100 * share).tolist())


def _highest(lines: Sequence[Series]) -> float:
    return max(max(one.y) for one in lines)


def _edges(tokens: Integers, *marked: int) -> Floats:
    """Of equal bins of whole tokens: Freedman and Diaconis' width, within what can be seen.

    Half a token before the first length of each. marked: lengths that are shown in any case.
    """
    first = int(tokens[0])
    last = max(int(np.quantile(tokens, _SHOWN, method="higher")), *marked, first)
    spread = float(np.subtract(*np.quantile(tokens, (0.75, 0.25))))
    wanted = 2 * spread / len(tokens) ** (1 / 3)
    reach = last - first + 1
    width = max(1, round(min(max(wanted, reach / _MOST_BINS), reach / _FEWEST_BINS)))
    return np.arange(first // width * width, last + width + 1, width) - 0.5


def label(one: Ranked) -> str:
    """What a legend calls it."""
    return one.fit.family.name if one.goodness.accepted else f"{one.fit.family.name} (rejected)"
