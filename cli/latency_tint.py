"""Text in the colour of its token's time: quick ones green, usual ones plain, late ones red."""

from __future__ import annotations

from collections.abc import Callable

from nextok.cli.latency_line import INKS
from nextok.cli.latency_meter import LatencyMeter, Pace

_DEFAULT_INK = "\x1b[22;39m"
"""Neither bold nor coloured; whatever else is set stays."""


def tinted(text: str, pace: Pace) -> str:
    """The text with codes around what can be seen of it."""
    ink, shown = INKS[pace], text.strip()
    if not ink or not shown:
        return text
    before, after = text.split(shown, 1)
    return f"{before}\x1b[{ink}m{shown}{_DEFAULT_INK}{after}"


class Tint:
    """Writes what the last token made certain."""

    def __init__(self, meter: LatencyMeter, write: Callable[[str], None]) -> None:
        """write: takes text to the terminal that can drive it."""
        self._meter = meter
        self._write = write

    def write(self, text: str) -> None:
        """text: foreign text in it is harmless already."""
        if text:
            self._write(tinted(text, self._meter.pace))
