"""Flag values that are numbers: in a range and finite, or a time.

The same contract as the kinds of `nextok.cli.flag_types`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nextok.cli.flag_types import text_of

DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_TIME = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ms|s|m|h|)", re.ASCII)
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_SECONDS = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "h": 3600.0}


class Number:
    """A finite number in a range; some words may stand for values outside of it."""

    def __init__(
        self,
        *,
        low: float,
        high: float,
        whole: bool = False,
        above: bool = False,
        words: Mapping[str, int | None] | None = None,
    ) -> None:
        """above: whether `low` itself is outside."""
        self._low = low
        self._high = high
        self._whole = whole
        self._above = above
        self.words = words or {}
        self.metavar = "N" if whole else "X"

    @property
    def expected(self) -> str:
        noun = "a whole number" if self._whole else "a number"
        start = (
            f"above {self._low:.12g} and at most" if self._above else f"from {self._low:.12g} to"
        )
        return " or ".join([f"{noun} {start} {self._high:.12g}", *self.words])

    def parse(self, text: str) -> object:
        if text in self.words:
            return self.words[text]
        if not (_WHOLE if self._whole else DECIMAL).fullmatch(text):
            raise ValueError
        return self._within(int(text) if self._whole else float(text))

    def accept(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, bool) or not isinstance(value, int if self._whole else (int, float)):
            raise ValueError
        return self._within(value if self._whole else float(value))

    def _within(self, value: float) -> float:
        # Comparisons with NaN are all false, so it is refused here whatever the range.
        reached = self._low < value if self._above else self._low <= value
        if not (reached and value <= self._high):
            raise ValueError
        return value + 0  # -0.0 becomes 0.0


class Numbers:
    """Whole numbers in a range, with commas between; a word may stand for some of them."""

    metavar = "N,N"

    def __init__(
        self, *, low: int, high: int, words: Mapping[str, tuple[int, ...]] | None = None
    ) -> None:
        self._one = Number(low=low, high=high, whole=True)
        self.words = words or {}

    @property
    def expected(self) -> str:
        several = f"whole numbers {self._one.expected.split(' ', 3)[3]}, such as 1,2"
        return " or ".join([several, *self.words])

    def parse(self, text: str) -> object:
        if text in self.words:
            return self.words[text]
        numbers = [self._one.parse(one.strip()) for one in text.split(",")]
        return tuple(dict.fromkeys(numbers))

    def accept(self, value: object) -> object:
        if isinstance(value, list):
            return tuple(dict.fromkeys(self._one.accept(one) for one in value))
        return (self._one.accept(value),) if isinstance(value, int) else self.parse(text_of(value))


class Duration:
    """Seconds, or a time with its unit; `off` is none."""

    metavar = "TIME"
    words: Mapping[str, float | None] = {"off": None}
    expected = "a time above 0 and at most 1000000000 seconds, such as 30, 30s, 2m or 500ms, or off"

    def parse(self, text: str) -> object:
        if text in self.words:
            return self.words[text]
        found = _TIME.fullmatch(text)
        if found is None:
            raise ValueError
        return self._within(float(found[1]) * _SECONDS[found[2]])

    def accept(self, value: object) -> object:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self._within(float(value))
        return self.parse(text_of(value))

    def _within(self, seconds: float) -> float:
        if not 0 < seconds <= 1e9:
            raise ValueError
        return seconds


class Size:
    """Bytes, written with or without a binary unit: 500MiB, 4G."""

    metavar = "SIZE"
    expected = "a size like 500MiB or 4GiB"

    def parse(self, text: str) -> object:
        match = _SIZE.fullmatch(text.strip())
        if match is None:
            raise ValueError
        return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))

    def accept(self, value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        return self.parse(text_of(value))
