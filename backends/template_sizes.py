"""How large the result of a text's method or of a template's filter is going to be, about.

Promises an estimate from the arguments of the call, in characters, before anything is made. A
wrong call fails here as it would there, with TypeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nextok.backends.template_limits import Exhausted

_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def _padded(text: Any, width: int = 80, fill: object = " ") -> int:
    return max(len(str(text)), width)


def _replaced(text: Any, old: Any, new: Any, count: int | None = -1) -> int:
    size: int = len(text) + text.count(old) * len(new)
    return size


def _expanded(text: Any, tabsize: int = 8) -> int:
    return len(text) * (1 + max(tabsize, 0))


def _split(text: Any, sep: Any = None, maxsplit: int = -1) -> int:
    # Each part is an object of some 60 bytes, so parts count as eight characters.
    return 8 * (text.count(sep) if sep else len(text) // 2)


def _lines(text: Any, keepends: bool = False) -> int:
    shown = text if isinstance(text, str) else text.decode("latin-1")
    return 8 * sum(map(shown.count, _LINE_BREAKS))


METHOD_SIZES: dict[str, Callable[..., int]] = {
    "center": _padded,
    "ljust": _padded,
    "rjust": _padded,
    "zfill": _padded,
    "replace": _replaced,
    "expandtabs": _expanded,
    "split": _split,
    "rsplit": _split,
    "splitlines": _lines,
}


def _filter_replace(text: Any, old: Any, new: Any, count: int | None = None) -> int:
    return _replaced(str(text), str(old), str(new))


def _indented(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> int:
    broad = width if isinstance(width, int) else len(width)
    return len(str(text)) + (1 + _lines(str(text)) // 8) * broad


def _listed(value: Any, *args: Any, **kwargs: Any) -> int:
    return 8 * len(value) if isinstance(value, str) else 0


def _in_rows(value: Any, count: int, fill: object = None) -> int:
    return 8 * count


def _rounded(value: Any, precision: int = 0, method: str = "common") -> int:
    if abs(precision) > 100:
        raise Exhausted("rounds to more than a hundred digits")
    return 0


def _summed(value: Any, attribute: object = None, start: object = 0) -> int:
    if not isinstance(start, (int, float)):
        raise Exhausted("adds up what is no number with sum")
    return 0


FILTER_SIZES: dict[str, Callable[..., int]] = {
    "center": _padded,
    "replace": _filter_replace,
    "indent": _indented,
    "list": _listed,
    "sort": _listed,
    "batch": _in_rows,
    "slice": _in_rows,
    "round": _rounded,
    "sum": _summed,
}
