"""The text of the line of live figures, for any width: what there is no room for is left out.

Pure: figures in, one line out. The width of each figure stays the same while it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from nextok.cli.latency_meter import RECENT, Pace, Reading

BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.-:=+*#"
_STALL = "!"
"""A stall's mark where there is no colour to show it."""
_LEAST_BARS = 8
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


Part = Sequence[Piece]


def latency_line(reading: Reading, room: int, look: Look) -> str:
    """The figures in no more than `room` columns, with colour codes if the look has any."""
    shown, left = _fitting(_parts(reading), room)
    bars = min(RECENT, left - len(_GAP) if shown else left)
    if bars >= _LEAST_BARS and reading.recent:
        shown.append(_sparkline(reading, bars, look))
    return _GAP.join(_painted(part, look) for part in shown)


def _fitting(parts: Sequence[tuple[int, Part]], room: int) -> tuple[list[Part], int]:
    """The parts that there is room for, the most important first, and the columns left over.

    Each comes with its rank. The sparkline has one too, and keeps its least room free.
    """
    kept: set[int] = set()
    left = room
    for rank, index in sorted((rank, index) for index, (rank, _) in enumerate(parts)):
        needed = _columns(parts[index][1]) + (len(_GAP) if kept else 0)
        reserved = _LEAST_BARS + len(_GAP) if rank > _SPARKLINE else 0
        if needed + reserved <= left:
            kept.add(index)
            left -= needed
    return [part for index, (_, part) in enumerate(parts) if index in kept], left


_SPARKLINE = 3
"""Its rank: what comes before it may take its room."""


def _parts(reading: Reading) -> list[tuple[int, Part]]:
    """What there is to say, in the line's order, each with its rank."""
    spread, ttft = reading.spread, short(reading.ttft_seconds * 1000).strip()
    parts: list[tuple[int, Part]] = [(7, _labelled("TTFT", ttft, "ms"))]
    if spread is not None:
        last = Piece(short(spread.last * 1000), INKS[reading.pace])
        parts += [
            (0, (last, Piece(" ms", _DIM))),
            (2, _labelled("p50", short(spread.p50 * 1000))),
            (5, _labelled("p95", short(spread.p95 * 1000))),
            (6, _labelled("max", short(spread.max * 1000))),
        ]
    if reading.tokens_per_second is not None:
        parts.append((1, _labelled("", short(reading.tokens_per_second), "tok/s")))
    if reading.drafted:
        parts.append((8, _labelled("drafted", f"{reading.drafted}/{reading.tokens}")))
    if reading.stalls:
        word = "stall" if reading.stalls == 1 else "stalls"
        parts.append((4, (Piece(f"{reading.stalls} {word}", INKS[Pace.STALLED]),)))
    return parts


def _labelled(label: str, value: str, unit: str = "") -> Part:
    before, after = label and label + " ", unit and " " + unit
    return [one for one in (Piece(before, _DIM), Piece(value), Piece(after, _DIM)) if one.text]


def _sparkline(reading: Reading, bars: int, look: Look) -> Part:
    """A bar a gap, the newest last; twice the median (or the 95th percentile) fills it."""
    spread = reading.spread
    top = max(2 * spread.p50, spread.p95) if spread is not None else 0.0
    recent = reading.recent[-bars:]
    return [Piece(_bar(gap, pace, top, look), INKS[pace]) for gap, pace in recent]


def _bar(gap: float, pace: Pace, top: float, look: Look) -> str:
    if pace is Pace.STALLED and not look.color:
        return _STALL
    bars = BARS if look.unicode else _ASCII_BARS
    return bars[min(len(bars) - 1, int(gap / top * len(bars)) if top > 0 else 0)]


def short(value: float) -> str:
    """Four columns, three digits where there are as many: "9.87", "12.3", " 213", "4567", " 12k".

    value: not negative.
    """
    if value >= 9999.5:
        return f"{value / 1000:.0f}k".rjust(4)
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}".rjust(4)


def _columns(part: Part) -> int:
    return sum(len(piece.text) for piece in part)


def _painted(part: Part, look: Look) -> str:
    return "".join(_runs(part)) if look.color else "".join(piece.text for piece in part)


def _runs(part: Part) -> Iterator[str]:
    for ink, pieces in groupby(part, lambda piece: piece.ink):
        text = "".join(piece.text for piece in pieces)
        yield f"\x1b[{ink}m{text}\x1b[0m" if ink else text
