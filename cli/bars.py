"""Lying bars made of characters, an eighth of a column exact."""

from __future__ import annotations

_EIGHTHS = "▏▎▍▌▋▊▉█"
_ASCII = "#"


def bar(value: float, most: float, width: int, *, fine: bool) -> str:
    """A bar for `value` where one for `most` is `width` columns long. None above 0 vanishes.

    fine: whether the terminal has the characters for parts of a column.
    """
    if value <= 0:
        return ""
    if not fine:
        return _ASCII * max(1, round(width * value / most))
    eighths = max(1, round(8 * width * value / most))
    full, part = divmod(eighths, 8)
    return _EIGHTHS[-1] * full + (_EIGHTHS[part - 1] if part else "")
