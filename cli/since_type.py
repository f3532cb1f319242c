"""Values of flags that are moments in the past, or what is to be left of something.

The same contract as the kinds of `nextok.cli.flag_types`.
"""

from __future__ import annotations

import re

from nextok.cli.flag_types import Written
from nextok.cli.number_types import Size
from nextok.cli.settings import Since

_AGE = r"([0-9]+(?:\.[0-9]+)?) ?(s|m|h|d|w|y)"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*"
_SECONDS = {
    "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0, "y": 365.25 * 86400.0,
}  # fmt: skip
_UNITS = "KMGTB"


class Moment(Written):
    """An age or a date."""

    metavar = "AGE|DATE"
    expected = (
        "an age (a number and s, m, h, d, w or y: 90m, 12h, 7d) or a date (2026-01-31, "
        "2026-01-31T18:30)"
    )

    def parse(self, text: str) -> object:
        age = re.fullmatch(_AGE, text, re.ASCII)
        if age is not None:
            return Since(ago_seconds=float(age[1]) * _SECONDS[age[2]])
        if not re.fullmatch(_DATE, text, re.ASCII):
            raise ValueError
        from datetime import datetime

        try:
            return Since(at=datetime.fromisoformat(text).timestamp())
        except OverflowError as error:
            raise ValueError from error


class Rest(Moment):
    """An age, a date, or a size with its unit: `m` are minutes, `M` are megabytes."""

    metavar = "AGE|DATE|SIZE"
    expected = f"{Moment.expected}, or a size such as 50MiB"

    def parse(self, text: str) -> object:
        if text[-1:].upper() in _UNITS and not text.endswith("m"):
            return Size().parse(text)
        return super().parse(text)
