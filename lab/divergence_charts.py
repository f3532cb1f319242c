"""The pictures of a comparison, as data. Knows figures only."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from nextok.lab.agreement import HORIZONS, Agreement
from nextok.lab.chart import Chart, Series
from nextok.lab.divergence_data import Compared
from nextok.lab.divergence_words import CAVEAT
from nextok.lab.numbers import counted
from nextok.lab.survival import geometric
from nextok.lab.variants import OWN, Comparison

_POINTS = 16
"""Of (1 − ε)^N."""
_LEAST = 0.002
"""Points below would lie on the axis."""
_BINS = 24
"""Points of a curve over positions: means of so many stretches."""


def divergence_charts(
    compared: Sequence[Compared], comparison: Comparison, settings: str
) -> tuple[Chart, ...]:
    """The survival of the text by the way of choosing, the divergence by position, and the share
    of texts that are the same, by their length."""
    if not compared:
        return ()
    notes = (f"{settings} · {comparison.title}",)
    survivals = (_survival(way, compared, notes) for way in compared[0].ways)
    return (*survivals, _divergence(compared, notes), _lengths(compared, notes))


def _survival(way: str, compared: Sequence[Compared], notes: tuple[str, ...]) -> Chart:
    """Steps for what was seen, points in the same colour for what a constant rate would give."""
    each = [(one, one.ways[way]) for one in compared if way in one.ways]
    longest = _longest(each)
    return Chart(
        name=f"survival-{way}",
        title=f"How long the text stays the reference's ({way})",
        x_label="tokens generated (log scale)",
        y_label="share of texts that are still the same",
        series=tuple(series for one, seen in each for series in _survivals(one, seen, longest)),
        x_scale="log",
        y_range=(0.0, 1.02),
        marks=tuple((float(one), f"N = {one:,}") for one in HORIZONS if one <= longest),
        notes=(*notes, f"Points: (1 − ε)^N with ε as measured. It supposes {CAVEAT}."),
    )


def _longest(each: Sequence[tuple[Compared, Agreement]]) -> int:
    return max((len(run.agrees) for _, one in each for run in one.runs), default=0)


def _survivals(one: Compared, agreement: Agreement, longest: int) -> Iterator[Series]:
    curve, rate = agreement.curve, agreement.epsilon
    steps, shares = [point.steps for point in curve], [point.share for point in curve]
    if shares[-1] == 0:  # and so it stays
        steps, shares = [*steps, longest], [*shares, 0.0]
    yield Series(label=one.label, x=steps, y=shares, kind="steps")
    places = sorted({round(longest ** (place / _POINTS)) for place in range(_POINTS + 1)})
    shown = [tokens for tokens in places if geometric(rate, tokens) >= _LEAST]
    yield Series(
        label=f"(1 − {rate:.4f})^N",
        x=shown,
        y=[geometric(rate, tokens) for tokens in shown],
        kind="points",
        like=one.label,
    )


def _divergence(compared: Sequence[Compared], notes: tuple[str, ...]) -> Chart:
    """Greedy texts: the mean over stretches of positions."""
    return Chart(
        name="kl",
        title="How far the distributions are apart along the reference's text",
        x_label="position in the text (tokens)",
        y_label="KL divergence from the reference (nats, log scale)",
        series=tuple(
            Series(label=one.label, x=x, y=y)
            for one in compared
            for x, y in [_stretches(next(iter(one.ways.values())).divergence_by_position())]
        ),
        y_scale="log",
        notes=(*notes, "Greedy texts, their tokens forced; means over stretches of positions."),
    )


def _stretches(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The middle of each stretch, and its mean."""
    size = max(1, -(-len(values) // _BINS))
    starts = range(0, len(values), size)
    parts = [values[start : start + size] for start in starts]
    middles = [start + (len(part) - 1) / 2 for start, part in zip(starts, parts, strict=True)]
    return middles, [statistics.fmean(part) for part in parts]


def _lengths(compared: Sequence[Compared], notes: tuple[str, ...]) -> Chart:
    """Bars: short texts, the first tokens of all, long texts."""
    short = next(iter(compared[0].ways.values())).short_tokens
    groups: Mapping[str, list[float]] = {
        f"texts of at most {counted(short, 'token')}": [],
        f"the first {counted(short, 'token')} of all": [],
        "longer texts": [],
    }
    names = []
    for one in compared:
        for way, agreement in one.ways.items():
            names.append(f"{one.label.removesuffix(OWN)}, {way}")
            shares = (agreement.short, agreement.early(short), agreement.long)
            for values, group in zip(groups.values(), shares, strict=True):
                values.append(float("nan") if group.share is None else group.share)
    return Chart(
        name="lengths",
        title="Texts that are the reference's token for token, by their length",
        x_label="variant, and how tokens are chosen",
        y_label="share of texts",
        series=tuple(
            Series(label=label, x=list(range(len(names))), y=values, kind="bars")
            for label, values in groups.items()
            if not all(map(math.isnan, values))
        ),
        x_names=tuple(names),
        y_range=(0.0, 1.02),
        notes=notes,
    )
