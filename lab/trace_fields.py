"""The fields of one line of a trace: each of the right kind, or None. Knows no field's meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

Fields: TypeAlias = Mapping[str, object]


_LARGEST = 1e15
"""What is more is neither a time in milliseconds nor a count of tokens."""


def fields_of(line: bytes) -> Fields | None:
    """The object a line is."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def inner(fields: Fields, key: str) -> Fields:
    """An object inside it; without one, an empty one."""
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def number(fields: Fields, key: str) -> float | None:
    """A number, 0 or more, that is no larger than anything a trace counts."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= _LARGEST else None  # NaN is not


def whole(fields: Fields, key: str) -> int | None:
    """The same, if it is a whole one."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _LARGEST else None


def text(fields: Fields, key: str) -> str | None:
    """A text of at least one character."""
    value = fields.get(key)
    return value if isinstance(value, str) and value else None
