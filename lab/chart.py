"""What a picture shows, as data: series over two axes, and the words around them.

The same for a picture, for a page and for a terminal; knows none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["line", "points", "steps", "bars", "band"]
Scale: TypeAlias = Literal["linear", "log"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """Values that belong together: as many of `x` as of `y`."""

    label: str
    """What the legend calls it; an empty one has no place in the legend."""
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "line"
    y_high: Sequence[float] | None = None
    """The upper edge of a band, whose lower edge is `y`."""
    like: str = ""
    """The label of the series whose colour it shares: of a fit, what was fitted."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One diagram. Values that are not finite, or not above 0 on a logarithmic axis, are not
    drawn."""

    name: str
    """What its file is called: small letters and hyphens, no ending."""
    title: str
    x_label: str
    """With its unit in parentheses, like `y_label`."""
    y_label: str
    series: tuple[Series, ...]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    notes: tuple[str, ...] = ()
    """Lines below: how it was made, and what to beware of."""
    y_range: tuple[float, float] | None = None
    """None: as far as the values go."""
    marks: tuple[tuple[float, str], ...] = ()
    """Places on the x axis that have a name: a line goes up from each."""
    x_names: tuple[str, ...] = ()
    """What stands at 0, 1, 2… on the x axis instead of numbers."""
