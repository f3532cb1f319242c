"""Numbers as the sentences of the lab write them: one form, whatever is counted.

Knows no figure.
"""

from __future__ import annotations

import math

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALL, _LARGE = 1e-4, 1e6
"""Below and from there on a number is written with a power of ten."""


def percent(share: float, decimals: int | None = None) -> str:
    """Two digits that count, unless it is said how many come after the point: 0.34 %, 31 %."""
    value = 100 * share
    if decimals is None:
        decimals = 2 if 0 < abs(value) < 1 else 1 if 1 <= abs(value) < 9.95 else 0
    return f"{value:.{decimals}f} %"


def counted(count: int, noun: str) -> str:
    """1 token, 1,200 tokens."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float, digits: int = 3) -> str:
    """So many digits that count: 0.676, 12.4, 1,234, 2.3 × 10⁶, 3.6 × 10⁻¹³."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not _SMALL <= abs(value) < _LARGE:
        sign = "−" if value < 0 else ""
        return sign + power_of_ten(math.log10(abs(value)), digits - 1)
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"


def power_of_ten(exponent: float, decimals: int = 1) -> str:
    """A number that no float may hold: 3.1 × 10⁻⁴²."""
    whole = math.floor(exponent)
    head = f"{10 ** (exponent - whole):.{decimals}f}"
    if float(head) == 10:
        head, whole = f"{1:.{decimals}f}", whole + 1
    return f"{head} × {_power(whole)}"


def magnitude(value: float) -> str:
    """One digit that counts, of something small: 10⁻⁷, 3 × 10⁻⁸; 0 for nothing."""
    return power_of_ten(math.log10(value), 0).removeprefix("1 × ") if value > 0 else "0"


def _power(exponent: int) -> str:
    return f"10{str(exponent).translate(_RAISED)}"
