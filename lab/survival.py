"""How long it lasts: the survival curve of something that ends once, or is not seen to end.

Kaplan and Meier's estimate (1958) with Greenwood's intervals on the log-log scale, and the
geometric curve that equal chances at every step would give. Numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

_Z = 1.959964
"""Standard deviations of a 95 % interval."""


@dataclass(frozen=True, kw_only=True)
class Spell:
    """Something that was watched for `steps` steps, and ended at the step with index `ended`."""

    steps: int
    ended: int | None = None
    """Counted from 0; None: not while it was watched."""


@dataclass(frozen=True, kw_only=True)
class Survival:
    """The share that is left after `steps` steps."""

    steps: int
    share: float
    low: float
    """Of the 95 % interval."""
    high: float
    at_risk: int
    """How many were still watched, and had not ended, when the last of these steps came."""


def survival(spells: Sequence[Spell]) -> list[Survival]:
    """From 0 steps on, for as long as any is watched that has not ended before."""
    share, variance, ended = 1.0, 0.0, 0
    curve = [Survival(steps=0, share=1.0, low=1.0, high=1.0, at_risk=len(spells))]
    for step in range(max((spell.steps for spell in spells), default=0)):
        at_risk = sum(_is_at_risk(spell, step) for spell in spells)
        if at_risk == 0:
            break
        ends = sum(spell.ended == step for spell in spells)
        share, ended = share * (1 - ends / at_risk), ended + ends
        if at_risk > ends:
            variance += ends / (at_risk * (at_risk - ends))
        low, high = _interval(share, variance, at_risk if share else ended)
        curve.append(Survival(steps=step + 1, share=share, low=low, high=high, at_risk=at_risk))
    return curve


def after(curve: Sequence[Survival], steps: int) -> Survival | None:
    """The point of the curve at so many steps; None where it does not reach so far.

    Where nothing is left, nothing is left later on.
    """
    if steps < len(curve):
        return curve[steps]
    return replace(curve[-1], steps=steps) if curve[-1].share == 0 else None


def geometric(chance: float, steps: float) -> float:
    """(1 − chance)^steps: what is left if every step ends it with the same chance."""
    return math.pow(1 - chance, steps)


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval (1927) of a chance that came true `count` of `total` times."""
    share, scale = count / total, 1 + _Z**2 / total
    middle = (share + _Z**2 / (2 * total)) / scale
    spread = _Z / scale * math.sqrt(share * (1 - share) / total + (_Z / (2 * total)) ** 2)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def first_departure(curve: Sequence[Survival], chance: float) -> Survival | None:
    """The first point whose interval the geometric curve has left for good; None if it never does.

    For good: a crossing that later points take back is none.
    """
    departed: Survival | None = None
    for point in curve[1:]:
        if point.low <= geometric(chance, point.steps) <= point.high:
            departed = None
        elif departed is None:
            departed = point
    return departed


def _is_at_risk(spell: Spell, step: int) -> bool:
    return step < spell.steps and (spell.ended is None or spell.ended >= step)


def _interval(share: float, variance: float, count: int) -> tuple[float, float]:
    """Kalbfleisch and Prentice's, which stays within 0 and 1.

    Where nothing has ended yet, or all has, it has no width: there the exact bound of so many
    equal outcomes stands in.
    """
    if share >= 1:
        return math.pow(0.025, 1 / count), 1.0
    if share <= 0:
        return 0.0, 1 - math.pow(0.025, 1 / count)
    spread = _Z * math.sqrt(variance) / abs(math.log(share))
    return math.pow(share, math.exp(spread)), math.pow(share, math.exp(-spread))
