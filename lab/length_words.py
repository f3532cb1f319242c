"""What a study of lengths means, in three sentences. Knows figures only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nextok.lab.length_costs import Cap, cheapest
from nextok.lab.length_figures import CostRatio, LengthFigures
from nextok.lab.length_fits import Fit
from nextok.lab.length_goodness import REJECTED
from nextok.lab.length_study import Ranked, Study
from nextok.lab.numbers import counted, number, percent

FEW_CUT = 0.01
"""The share of answers that a cap may cut short without many noticing."""
HUNDRED = 100
"""Answers from which on one in a hundred is one of them."""
_DEVIATIONS = 2.0
"""Of a correlation by chance: one over the root of the number of answers."""
_NONE = "none of these"


def length_sentences(study: Study) -> tuple[str, str, str]:
    """How long answers are, which distribution that is, and what can be done with it."""
    if not study.ranked:
        return _all_equal(study)
    return _spread(study.figures, study.cost), _family(study), _use(study)


def verdict(study: Study) -> str | None:
    """The name of the best family that fits, or "none of these"; None where none was fitted."""
    if not study.ranked:
        return None
    return study.accepted[0].fit.family.name if study.accepted else _NONE


def _all_equal(study: Study) -> tuple[str, str, str]:
    """Of answers that have one length: what can be said of them, and what cannot."""
    seen, length = study.figures, counted(study.figures.max, "token")
    said = f"All {seen.count:,} answers have" if seen.count > 1 else "The only answer has"
    first = f"{said} {length}{_compared(study.cost)}."
    if not study.sample.ended.any():
        return (
            first,
            "All were cut off there: no distribution can be fitted, for nothing tells how long "
            "they would have become.",
            "A larger -n lets answers end by themselves.",
        )
    return (
        first,
        "No distribution can be fitted to a single length: it takes two that differ.",
        f"A cap below {length} cuts all of them, and one above saves nothing.",
    )


def _spread(seen: LengthFigures, cost: CostRatio | None) -> str:
    """Of fewer answers than a hundred, there are no 99 in a hundred to speak of."""
    low, high = seen.intervals["mean"]
    mean = f"{_tokens(seen.mean)} on average ({number(low)} to {number(high)})"
    half, share = f"half of them at most {number(seen.p50)}", percent(seen.top1_share)
    if seen.count < HUNDRED:
        return (
            f"{seen.count:,} answers have {mean}, {half} and the longest {seen.max:,}, which is "
            f"{share} of all tokens{_compared(cost)}."
        )
    longest = "answer" if seen.top1_count == 1 else f"{seen.top1_count:,} answers"
    return (
        f"{seen.count:,} answers have {mean}, {half} and 99 in a hundred at most "
        f"{number(seen.p99)}; the longest {longest} ({percent(seen.top1_count / seen.count)}) "
        f"take{'s' * (seen.top1_count == 1)} {share} of all tokens{_compared(cost)}."
    )


def _compared(cost: CostRatio | None) -> str:
    if cost is None:
        return ""
    low, high = cost.interval
    return (
        f", and an answer of {cost.source} ({_tokens(cost.mean)}) costs "
        f"{number(cost.ratio)} times as much ({number(low)} to {number(high)})"
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
            f"{100 * REJECTED:g} % of draws (p ≤ {number(nearest.goodness.p_value, 2)})."
        )
    best = study.accepted[0]
    others = [one.fit for one in study.accepted[1:]]
    also = f"; {_names(others)} cannot be excluded either" if others else ", as no other does"
    return (
        f"The lengths could come from a {best.fit.family.name} distribution "
        f"({_parameters(best.fit)}): it is off by {_points(best)} at most, as chance alone is in "
        f"{percent(best.goodness.p_value)} of draws{also}."
    )


def _use(study: Study) -> str:
    return f"{_cap(study)}; {_schedule(study)}."


def _cap(study: Study) -> str:
    half = cheapest(study.caps, 0.5)
    if study.figures.count < HUNDRED:  # one in a hundred is none of them
        return _half(half, study.figures.count)
    cap = cheapest(study.caps, FEW_CUT)
    if cap is None or half is None:
        return "No cap below the longest answer cuts as few as one in a hundred"
    said = f"A cap of {cap.tokens:,} tokens cuts {percent(cap.cut_share)} of the answers and saves"
    if half == cap:
        return f"{said} {percent(cap.saved_share)} of the tokens"
    return (
        f"{said} {percent(cap.saved_share)} of the tokens, one of {half.tokens:,} cuts "
        f"{percent(half.cut_share)} and saves {percent(half.saved_share)}"
    )


def _half(cap: Cap | None, count: int) -> str:
    if cap is None:
        return "No cap below the longest answer leaves half of them whole"
    return (
        f"A cap of {cap.tokens:,} tokens cuts {cap.cut:,} of the {count:,} answers and saves "
        f"{percent(cap.saved_share)} of the tokens"
    )


def _schedule(study: Study) -> str:
    nothing = min(
        (one for one in study.predictions if not one.needs_prompt),
        key=lambda one: one.mean_absolute_error,
    )
    off = f"the {nothing.name} of the others is off by {_tokens(nothing.mean_absolute_error)}"
    with_prompt = [one for one in study.predictions if one.needs_prompt]
    if not with_prompt:
        return f"to predict an answer's length without knowing its prompt, {off}"
    best = max(with_prompt, key=lambda one: one.scheduling_gain)
    known = f"knowing nothing, {off}, and the {best.name} by {number(best.mean_absolute_error)}"
    if best.scheduling_gain <= _DEVIATIONS / math.sqrt(study.figures.count):
        return f"{known}, whose order is no better than chance"
    return (
        f"{known}: to serve short answers first by it saves {percent(best.scheduling_gain)} of "
        "the wait that knowing the lengths would save"
    )


def _names(found: Sequence[Fit]) -> str:
    return ", ".join(one.family.name for one in found)


def _parameters(fit: Fit) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in fit.parameters.items())


def _points(one: Ranked) -> str:
    return f"{100 * one.goodness.distance:.1f} percentage points"


def _tokens(value: float) -> str:
    return f"{number(value)} token{'' if number(value) == '1' else 's'}"
