"""How large the result of a text's method or of a template's filter is going to be, about.

Promises an estimate from the arguments of the call, in characters, before anything is made. A
wrong call fails here as it would there, with TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nextok.backends.template_limits import Exhausted

MAX_PAIRS = 2_000_000_000
"""Comparisons that one operation may come to, at worst: a second, and nothing can stop it."""
_MAX_DIGITS = 4_300
"""Python's own limit; it has none for bases that are powers of two."""
_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def pairs_of(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Refuse to compare each item with each; makes nothing itself."""
    if len(one) * len(other) > MAX_PAIRS:
        raise Exhausted(f"compares each of {len(one):,} things with each of {len(other):,}")
    return 0


def _searched_backwards(text: Any, part: Any, *span: object) -> int:
    return pairs_of(text, part)


def _stripped(text: Any, chars: Any = None) -> int:
    return pairs_of(text, chars or "")


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


def _rsplit(text: Any, sep: Any = None, maxsplit: int = -1) -> int:
    return pairs_of(text, sep or "") + _split(text, sep)


METHOD_SIZES: dict[str, Callable[..., int]] = {
    "center": _padded,
    "ljust": _padded,
    "rjust": _padded,
    "zfill": _padded,
    "replace": _replaced,
    "expandtabs": _expanded,
    "split": _split,
    "rsplit": _rsplit,
    "splitlines": _lines,
    "rfind": _searched_backwards,
    "rindex": _searched_backwards,
    "rpartition": _searched_backwards,
    "strip": _stripped,
    "lstrip": _stripped,
    "rstrip": _stripped,
}


def _filter_replace(text: Any, old: Any, new: Any, count: int | None = None) -> int:
    return _replaced(str(text), str(old), str(new))


def _indented(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> int:
    broad = width if isinstance(width, int) else len(width)
    return len(str(text)) + (1 + _lines(str(text)) // 8) * broad


def _listed(value: Any, *args: Any, **kwargs: Any) -> int:
    return 8 * len(value) if isinstance(value, str) else 0


def _trimmed(value: Any, chars: str | None = None) -> int:
    return pairs_of(str(value), chars or "")


def _in_words(value: Any) -> int:
    # A word is an object of some 60 bytes; those of one letter are many.
    return 8 * (len(str(value)) // 2)


def _parsed(value: Any, *args: Any, **kwargs: Any) -> int:
    if isinstance(value, (str, bytes)) and len(value) > _MAX_DIGITS:
        raise Exhausted(f"reads a number of more than {_MAX_DIGITS:,} digits")
    return 0


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
    "trim": _trimmed,
    "title": _in_words,
    "wordcount": _in_words,
    "int": _parsed,
}
