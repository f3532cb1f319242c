"""The pictures of abandoned requests, as data. Knows figures only."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from nextok.generation.timings import percentile
from nextok.lab.abandonment_data import Abandonment, Departure
from nextok.lab.chart import Chart, Series
from nextok.lab.slots import Served

WITHOUT, PROPAGATED = "without abort propagation", "with abort propagation"
_PARTS = 200
"""Points of a distribution's curve."""


def abandonment_charts(
    found: Abandonment, departures: Sequence[Departure], about: str
) -> tuple[Chart, ...]:
    """The queue at the load asked for and at others, the capacity, and the real generations."""
    speed = found.service.speed
    simulated = (
        about,
        f"Simulated: {len(found.service.lengths):,} requests on {found.service.slots} slots, of "
        f"which each reads {speed.prefill_tokens_per_second:,.0f} tokens a second and makes "
        f"{1 / speed.decode_seconds:,.1f}, as measured.",
    )
    charts = (_waits(found, simulated), _loads(found, simulated), _gains(found, simulated))
    return (*charts, _real(departures, about)) if departures else charts


def _waits(found: Abandonment, notes: tuple[str, ...]) -> Chart:
    """How many wait longer than so long."""
    load = found.service.load(found.rate)
    return Chart(
        name="delay",
        title=f"How long requests wait for a slot, at {100 * load:.0f} % load",
        x_label="queueing delay (s)",
        y_label="requests that wait longer (%)",
        series=(_longer(WITHOUT, found.both.without), _longer(PROPAGATED, found.both.propagated)),
        y_range=(0.0, 102.0),
        notes=notes,
    )


def _longer(label: str, served: Served) -> Series:
    ordered = sorted(served.waits)
    served_at_once = 100 * bisect_right(ordered, 0.0) / len(ordered)
    percents = [
        served_at_once + (100 - served_at_once) * part / _PARTS for part in range(_PARTS + 1)
    ]
    return Series(
        label=label,
        x=[percentile(ordered, percent) for percent in percents],
        y=[100 - percent for percent in percents],
    )


def _loads(found: Abandonment, notes: tuple[str, ...]) -> Chart:
    """The 95th percentile, by the load; lines are medians."""
    loads = [100 * load for load, _ in found.by_load]
    sides = (
        (WITHOUT, [both.without for _, both in found.by_load]),
        (PROPAGATED, [both.propagated for _, both in found.by_load]),
    )
    return Chart(
        name="load",
        title="The fuller the slots, the more it matters: 95th percentile of the delay",
        x_label="load if every answer is made to its end (%)",
        y_label="queueing delay, p95 (s)",
        series=tuple(
            Series(label=label, x=loads, y=[one.wait(95) for one in side]) for label, side in sides
        ),
        marks=((100 * found.service.load(found.rate), "as asked"),),
        notes=notes,
    )


def _gains(found: Abandonment, notes: tuple[str, ...]) -> Chart:
    """Capacity gained, by the share of abandoned requests."""
    return Chart(
        name="capacity",
        title="Capacity gained by stopping when the reader has gone",
        x_label="requests that are abandoned (%)",
        y_label="more requests on the same slots (%)",
        series=(
            Series(
                label="",
                x=[100 * share for share, _ in found.gained_by_share],
                y=[100 * gain for _, gain in found.gained_by_share],
            ),
        ),
        marks=((100 * found.service.abandoned_share, "as asked"),),
        notes=notes,
    )


def _real(departures: Sequence[Departure], about: str) -> Chart:
    """Bars for each generation."""
    places = list(range(len(departures)))
    made = [one.left.tokens_made for one in departures]
    return Chart(
        name="real",
        title="Real generations: tokens made when the reader stays, and leaves",
        x_label="generation",
        y_label="tokens made",
        series=(
            Series(
                label="reader stays",
                x=places,
                y=[one.stayed.tokens_made for one in departures],
                kind="bars",
            ),
            Series(label="reader leaves", x=places, y=made, kind="bars"),
            Series(
                label="read before leaving",
                x=places,
                y=[one.leave_after for one in departures],
                kind="bars",
            ),
        ),
        x_names=tuple(str(place + 1) for place in places),
        notes=(about, "Each runs twice, with the same seed; the reader leaves at a random token."),
    )
