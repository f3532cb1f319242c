"""What `nextok stats` shows in a terminal: how generations ended, how long they were, how fast.

Lines of text from figures; the terminal's width, signs and colours are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from nextok.backends.journal_statistics import (
    ABORTED,
    COMPLETED,
    ModelLatency,
    Saved,
    Spread,
    Statistics,
)
from nextok.cli.console import one_line
from nextok.cli.length_histogram import figures, histogram
from nextok.cli.stats_look import BOLD, DIM, GREEN, RED, YELLOW, Look, counted
from nextok.cli.stats_report import MEDIAN_ITL, Reported, percent
from nextok.cli.units import brief, duration

_GOOD = tuple(reason.value for reason in COMPLETED)
_CUT = tuple(reason.value for reason in ABORTED)
_MARGIN, _COLUMN = 6, 8
"""Columns before times, and of one."""
_SPACE = 15
"""Columns of an ending's line that are neither its name nor its count nor a bar."""
_FAIR = f"ITL is {MEDIAN_ITL}"


def page(reported: Reported, look: Look) -> list[str]:
    """All of it, section by section."""
    found = reported.statistics
    sections = (
        _section("", _about(reported, look)),
        _section(look.inked("How they ended", BOLD), _endings(found, look)),
        _section("", _aborting(found, look)),
        _section(look.inked("Output length in tokens", BOLD), histogram(found.lengths, look)),
        _section("", figures(found.lengths, look)),
        _section(look.inked("Latency by model (generations)", BOLD), _latencies(found, look)),
    )
    lines = [line for section in sections for line in (*section, "") if section]
    return lines[:-1]


def _section(title: str, lines: Iterator[str]) -> list[str]:
    """Nothing at all where there are no lines."""
    found = list(lines)
    return [title, *found] if title and found else found


def _about(reported: Reported, look: Look) -> Iterator[str]:
    found = reported.statistics
    parts = [counted(found.generations, "generation"), f"{found.lengths.total:,} tokens"]
    if reported.only_model is not None and len(found.latencies) == 1:
        parts.append(one_line(found.latencies[0].model.name))
    if reported.since is not None:
        parts.append(f"since {datetime.fromtimestamp(reported.since):%Y-%m-%d %H:%M}")
    yield from look.said(" · ".join(parts), BOLD, indent=0)


def _endings(found: Statistics, look: Look) -> Iterator[str]:
    most = max(found.finishes.values())
    names, counts = max(map(len, found.finishes)), max(len(f"{most:,}"), 3)
    room = look.width - names - counts - _SPACE
    for finish, count in found.finishes.items():
        ink = GREEN if finish in _GOOD else YELLOW if finish in _CUT else RED
        share = percent(count, found.generations)
        head = f"  {finish:{names}}  {count:{counts},}  {share:>7} "
        yield head + look.bar(count, most, room, ink) if room > 1 else head.rstrip()


def _aborting(found: Statistics, look: Look) -> Iterator[str]:
    if not found.aborted:
        return
    which = [f"{count:,} {name}" for name, count in found.finishes.items() if name in _CUT]
    share = percent(found.aborted, found.generations)
    yield from look.said(f"{found.aborted:,} aborted ({share}): {', '.join(which)}")
    saved = found.saved
    if saved.aborted:
        between = f"{duration(saved.low)} to {duration(saved.high)}"
        total = f"about {duration(saved.seconds)} of compute ({between})"
        yield from look.said(f"aborting saved {total}")
        yield from look.said(_ground(saved), DIM)


def _ground(saved: Saved) -> str:
    """What the estimate rests on."""
    ground = (
        f"an estimate: what {counted(saved.completed, 'completed generation')} of the same "
        "models still said from that length on (median; quartiles), times the model's ITL"
    )
    if not saved.unknown:
        return ground
    return f"{ground}; without {saved.unknown:,} that got further than any completed one"


def _latencies(found: Statistics, look: Look) -> Iterator[str]:
    shown = [one for one in found.latencies if one.ttft or one.itl]
    if not shown:
        return
    columns = max(1, (look.width - _MARGIN) // _COLUMN)
    heads = "".join(f"{head:>{_COLUMN}}" for head in ("p50", "p95", "p99", "max")[:columns])
    yield look.inked(f"{'':{_MARGIN}}{heads}", DIM)
    for one in shown:
        yield from look.said(_titled(one))
        for title, spread in (("TTFT", one.ttft), ("ITL", one.itl)):
            if spread is not None:
                yield f"  {title:4}{_cells(spread, columns)}"
    yield ""
    yield from look.said(_FAIR, DIM)


def _titled(one: ModelLatency) -> str:
    name, kind = one_line(one.model.name), one.model.quantization
    told = f" {kind}" if kind and kind.casefold() not in name.casefold() else ""
    return f"{name}{told} ({one.generations:,})"


def _cells(spread: Spread, columns: int) -> str:
    values = (spread.p50, spread.p95, spread.p99, spread.max)[:columns]
    return "".join(f"{brief(value):>{_COLUMN}}" for value in values)
