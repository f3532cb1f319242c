"""The text of the line of live figures, for any width: what there is no room for is left out.

Pure: figures in, one line out. The width of each figure stays the same while it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nextok.cli.latency_meter import RECENT, Pace, Reading, Spread

BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.-:=+*#"
_STALL = "!"
"""A stall's mark where there is no colour to show it."""
_LEAST_BARS = 6
_SPARKLINE = 3
"""Its rank: parts that come before it may take its room."""
_LONG, _VERY_LONG = 9.9995, 999.95
"""Seconds: of more, milliseconds are no use, then tenths."""
_GAP = "  "
_PLAIN, _DIM = "", "2"
INKS = {
    Pace.QUICK: "32",
    Pace.USUAL: _PLAIN,
    Pace.SLOW: "33",
    Pace.LATE: "31",
    Pace.STALLED: "1;31",
}
"""Codes for each pace, of the sixteen colours that every terminal has."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the terminal can show."""

    color: bool
    unicode: bool


class Piece(NamedTuple):
    """Text in one colour."""

    text: str
    ink: str = _PLAIN


class Part(NamedTuple):
    """What is shown whole or not at all."""

    rank: int
    """How soon it is left out: the highest first."""
    pieces: Sequence[Piece]
    gap: str = _GAP
    """What sets it off from a part before it."""


def latency_line(reading: Reading, room: int, look: Look) -> str:
    """The figures in no more than `room` columns, with colour codes if the look has any."""
    reserved = _LEAST_BARS + len(_GAP) if reading.recent else 0
    shown, left = _fitting(_parts(reading), room, reserved)
    bars = min(RECENT, left - len(_GAP) if shown else left)
    if bars >= _LEAST_BARS and reading.recent:
        shown.append(_sparkline(reading, bars, look))
    return "".join(
        (part.gap if index else "") + _painted(part.pieces, look)
        for index, part in enumerate(shown)
    )


def _fitting(parts: Sequence[Part], room: int, reserved: int) -> tuple[list[Part], int]:
    """The parts that there is room for, the most important first, and the columns left over.

    reserved: columns that the sparkline needs, which has a rank too.
    """
    kept: set[int] = set()
    left = room
    for rank, pieces, gap in sorted(parts):
        needed = sum([len(text) for text, _ in pieces]) + (len(gap) if kept else 0)
        if needed + (reserved if rank > _SPARKLINE else 0) <= left:
            kept.add(rank)
            left -= needed
    return [part for part in parts if part.rank in kept], left


def _parts(reading: Reading) -> list[Part]:
    """What there is to say, in the line's order."""
    parts = [Part(6, _labelled("TTFT", *_waited(reading.ttft_seconds)))]
    if reading.spread is not None:
        parts += _spread(reading.spread, reading.pace)
    if reading.tokens_per_second is not None:
        parts.append(Part(1, _labelled("", short(reading.tokens_per_second), "tok/s")))
    if reading.drafted:
        drafted = f"{reading.drafted}/{reading.tokens}"
        parts.append(Part(8, _labelled("drafted", drafted)))
    if reading.stalls:
        word = "stall" if reading.stalls == 1 else "stalls"
        parts.append(Part(4, [Piece(f"{reading.stalls} {word}", INKS[Pace.STALLED])]))
    return parts


def _spread(spread: Spread, pace: Pace) -> list[Part]:
    p50, p95, most = (
        _labelled(label, _milliseconds(value).strip().ljust(4))
        for label, value in (("p50", spread.p50), ("p95", spread.p95), ("max", spread.max))
    )
    return [
        Part(0, [Piece(_milliseconds(spread.last), INKS[pace]), Piece(" ms", _DIM)]),
        Part(2, p50),
        Part(5, p95, " "),
        Part(7, most, " "),
    ]


def _labelled(label: str, value: str, unit: str = "") -> Sequence[Piece]:
    before, after = label and label + " ", unit and " " + unit
    return [one for one in (Piece(before, _DIM), Piece(value), Piece(after, _DIM)) if one.text]


def _sparkline(reading: Reading, bars: int, look: Look) -> Part:
    """A bar a gap, the newest last; twice the median (or the 95th percentile) fills it."""
    glyphs = BARS if look.unicode else _ASCII_BARS
    spread, highest = reading.spread, len(glyphs) - 1
    top = max(2 * spread.p50, spread.p95) if spread is not None else 0.0
    steps = len(glyphs) / top if top > 0 else 0.0
    pieces: list[Piece] = []
    before, run = Pace.USUAL, ""
    for gap, pace in reading.recent[-bars:]:
        if pace is not before:
            pieces.append(Piece(run, INKS[before]))
            before, run = pace, ""
        level = int(gap * steps)
        run += glyphs[level if level < highest else highest]
        if pace is Pace.STALLED and not look.color:
            run = run[:-1] + _STALL
    return Part(_SPARKLINE, [*pieces, Piece(run, INKS[before])])


def short(value: float) -> str:
    """Four columns, three digits where there are as many: "9.87", "12.3", " 213", "4567", " 12k".

    value: not negative.
    """
    if value >= 9999.5:
        return f"{value / 1000:.0f}k".rjust(4)
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}".rjust(4)


def _waited(seconds: float) -> tuple[str, str]:
    """A wait, and its unit: seconds from ten on."""
    if seconds < _LONG:
        return _milliseconds(seconds).strip(), "ms"
    return f"{seconds:.1f}" if seconds < _VERY_LONG else f"{seconds:.0f}", "s"


def _milliseconds(seconds: float) -> str:
    return short(seconds * 1000)


def _painted(pieces: Sequence[Piece], look: Look) -> str:
    if not look.color:
        return "".join([text for text, _ in pieces])
    return "".join([f"\x1b[{ink}m{text}\x1b[0m" if ink else text for text, ink in pieces if text])
