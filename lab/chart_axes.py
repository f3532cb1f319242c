"""The axes of a chart, from its values: the same for a picture and for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from nextok.lab.axis import Axis, linear, logarithmic
from nextok.lab.chart import Chart, Scale, Series

_EMPTY = (0.0, 1.0)
"""The range of an axis that has no values."""


def shown_points(chart: Chart, series: Series) -> list[tuple[float, float]]:
    """The points that can stand on the chart's axes; of a band its lower edge."""
    return list(_possible(chart, zip(series.x, series.y, strict=True)))


def has_values(chart: Chart, series: Series) -> bool:
    """Whether anything of it can stand on the chart's axes."""
    return bool(shown_band(chart, series) if series.kind == "band" else shown_points(chart, series))


def shown_band(chart: Chart, series: Series) -> list[tuple[float, float, float]]:
    """x, low and high of a band, where all three can stand on the axes."""
    lows = zip(series.x, series.y, strict=True)
    highs = zip(series.x, series.y_high or series.y, strict=True)
    return [
        (x, low, high)
        for (x, low), (_, high) in zip(lows, highs, strict=True)
        if _fits(chart.x_scale, x) and _fits(chart.y_scale, low) and _fits(chart.y_scale, high)
    ]


def x_axis(chart: Chart) -> Axis:
    """As far as the points go; bars get the room of half a bar on either side."""
    if chart.x_names:
        return Axis(low=-0.6, high=len(chart.x_names) - 0.4)
    values = [x for one in chart.series for x, _ in shown_points(chart, one)]
    values += [x for x, _ in chart.marks if _fits(chart.x_scale, x)]
    if not values:
        return Axis(low=_EMPTY[0], high=_EMPTY[1])
    if chart.x_scale == "log":
        return logarithmic(values)
    room = bar_room(chart)
    low, high = min(values) - room / 2, max(values) + room / 2
    whole = all(float(value).is_integer() for value in values)
    if 0 <= min(values) < 0.2 * high and not room:
        low = 0.0
    return Axis(low=low, high=high + ((high - low) * 0.02 or 0.5), whole=whole)


def y_axis(chart: Chart) -> Axis:
    """The range that is asked for, else as far as the values go; bars begin at 0."""
    if chart.y_range is not None:
        return Axis(low=chart.y_range[0], high=chart.y_range[1], log=chart.y_scale == "log")
    values = list(chain.from_iterable(_heights(chart, one) for one in chart.series))
    if not values:
        return Axis(low=_EMPTY[0], high=_EMPTY[1])
    if chart.y_scale == "log":
        return logarithmic(values)
    bars = any(one.kind == "bars" for one in chart.series)
    return linear([*values, 0.0] if bars else values)


def bar_room(chart: Chart) -> float:
    """How far bars are apart; 0 without any."""
    places = sorted({x for one in chart.series if one.kind == "bars" for x in one.x})
    gaps = [after - before for before, after in zip(places, places[1:], strict=False)]
    return min(gaps, default=1.0 if places else 0.0)


def _heights(chart: Chart, series: Series) -> Iterator[float]:
    for _, low, high in shown_band(chart, series):
        yield from (low, high)


def _possible(chart: Chart, points: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    for x, y in points:
        if _fits(chart.x_scale, x) and _fits(chart.y_scale, y):
            yield float(x), float(y)


def _fits(scale: Scale, value: float) -> bool:
    return math.isfinite(value) and (scale == "linear" or value > 0)


def colors(series: Sequence[Series]) -> list[int]:
    """A number for each: the same for those that are alike."""
    numbers: dict[str, int] = {}
    found = []
    for place, one in enumerate(series):
        key = one.like or one.label or f"\0{place}"
        found.append(numbers.setdefault(key, len(numbers)))
    return found
