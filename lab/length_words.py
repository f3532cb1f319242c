"""What a study of lengths means, in three sentences. Knows figures only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nextok.lab.length_costs import cheapest
from nextok.lab.length_figures import CostRatio, LengthFigures
from nextok.lab.length_fits import Fit
from nextok.lab.length_goodness import REJECTED
from nextok.lab.length_study import Ranked, Study

FEW_CUT = 0.01
"""The share of answers that a cap may cut short without many noticing."""
_DEVIATIONS = 2.0
"""Of a correlation by chance: one over the root of the number of answers."""
_NONE = "none of these"


def length_sentences(study: Study) -> tuple[str, str, str]:
    """How long answers are, which distribution that is, and what can be done with it."""
    return _spread(study.figures, study.cost), _family(study), _use(study)


def verdict(study: Study) -> str:
    """The name of the best family that fits, or "none of these"."""
    return study.accepted[0].fit.family.name if study.accepted else _NONE


def _spread(seen: LengthFigures, cost: CostRatio | None) -> str:
    low, high = seen.intervals["mean"]
    longest = "answer" if seen.top1_count == 1 else f"{seen.top1_count:,} answers"
    return (
        f"{seen.count:,} answers have {_tokens(seen.mean)} tokens on average "
        f"({_tokens(low)} to {_tokens(high)}), half of them at most {_tokens(seen.p50)} and 99 in "
        f"a hundred at most {_tokens(seen.p99)}; the longest {longest} "
        f"({_percent(seen.top1_count / seen.count)}) take{'s' * (seen.top1_count == 1)} "
        f"{_percent(seen.top1_share)} of all tokens"
        f"{_compared(cost)}."
    )


def _compared(cost: CostRatio | None) -> str:
    if cost is None:
        return ""
    low, high = cost.interval
    return (
        f", and an answer of {cost.source} ({_tokens(cost.mean)} tokens) costs "
        f"{cost.ratio:.3g} times as much ({low:.3g} to {high:.3g})"
    )


def _family(study: Study) -> str:
    if not study.sample.ended.any():
        return "Every answer was cut off: nothing tells which distribution the lengths come from."
    if not study.accepted:
        nearest = study.nearest
        return (
            f"The lengths come from none of these: {_names([one.fit for one in study.ranked])}; "
            f"the nearest, {nearest.fit.family.name}, is off by up to "
            f"{_points(nearest)}, as chance alone is in less than "
            f"{100 * REJECTED:g} % of draws (p ≤ {nearest.goodness.p_value:.2g})."
        )
    best = study.accepted[0]
    others = [one.fit for one in study.accepted[1:]]
    also = f"; {_names(others)} cannot be excluded either" if others else ", as no other does"
    return (
        f"The lengths could come from a {best.fit.family.name} distribution "
        f"({_parameters(best.fit)}): it is off by {_points(best)} at most, as chance alone is in "
        f"{_percent(best.goodness.p_value)} of draws{also}."
    )


def _use(study: Study) -> str:
    return f"{_cap(study)}; {_schedule(study)}."


def _cap(study: Study) -> str:
    cap = cheapest(study.caps, FEW_CUT)
    half = cheapest(study.caps, 0.5)
    if cap is None or half is None:
        return "No cap below the longest answer cuts as few as one in a hundred"
    said = f"A cap of {cap.tokens:,} tokens cuts {_percent(cap.cut_share)} of the answers and saves"
    if half == cap:
        return f"{said} {_percent(cap.saved_share)} of the tokens"
    return (
        f"{said} {_percent(cap.saved_share)} of the tokens, one of {half.tokens:,} cuts "
        f"{_percent(half.cut_share)} and saves {_percent(half.saved_share)}"
    )


def _schedule(study: Study) -> str:
    nothing = min(
        (one for one in study.predictions if not one.needs_prompt),
        key=lambda one: one.mean_absolute_error,
    )
    off = (
        f"the {nothing.name} of the others is off by {_tokens(nothing.mean_absolute_error)} tokens"
    )
    with_prompt = [one for one in study.predictions if one.needs_prompt]
    if not with_prompt:
        return f"to predict an answer's length without knowing its prompt, {off}"
    best = max(with_prompt, key=lambda one: one.scheduling_gain)
    known = f"knowing nothing, {off}, and the {best.name} by {_tokens(best.mean_absolute_error)}"
    if best.scheduling_gain <= _DEVIATIONS / math.sqrt(study.figures.count):
        return f"{known}, whose order is no better than chance"
    return (
        f"{known}: to serve short answers first by it saves {_percent(best.scheduling_gain)} of "
        "the wait that knowing the lengths would save"
    )


def _names(found: Sequence[Fit]) -> str:
    return ", ".join(one.family.name for one in found)


def _parameters(fit: Fit) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in fit.parameters.items())


def _points(one: Ranked) -> str:
    return f"{100 * one.goodness.distance:.1f} percentage points"


def _tokens(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _percent(share: float) -> str:
    """Two digits that count: 0.34 %, 2.1 %, 31 %."""
    value = 100 * share
    decimals = 2 if 0 < abs(value) < 1 else 1 if 1 <= abs(value) < 9.95 else 0
    return f"{value:.{decimals}f} %"
