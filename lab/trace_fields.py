"""The fields of one line of a trace: each of the right kind, or None. Knows no field's meaning."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TypeAlias

Fields: TypeAlias = Mapping[str, object]


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
    """A finite number, 0 or more."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) and converted >= 0 else None


def whole(fields: Fields, key: str) -> int | None:
    """A whole number, 0 or more."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None


def text(fields: Fields, key: str) -> str | None:
    """A text of at least one character."""
    value = fields.get(key)
    return value if isinstance(value, str) and value else None
