"""The figures of latencies in words: a sentence for one series, a table for several.

Lines of text, no wider than they were asked to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells, set_cell_size

from nextok.cli.console import one_line
from nextok.cli.terminal_plot import styled
from nextok.cli.terminal_signs import Signs
from nextok.lab.latency_figures import HEADS, Series

_WANTED = (
    "p50 ms", "p95 ms", "p99 ms", "max ms", "stalls", "TTFT ms", "tokens", "end", "prefill ms",
)  # fmt: skip
"""Columns of the table, those first that go last where there is little room."""
_SHORTEST_LABEL = 24
_GAP = 2


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A series, and how it is told from the others."""

    series: Series
    letter: str
    style: str


def plain(text: str, signs: Signs) -> str:
    """A text of ours or of a file's: harmless, on one line, our signs in it replaced."""
    said = one_line(text).replace(" · ", f" {signs.dot} ").replace("×", signs.loud)
    return said.replace("→", signs.then)


def wrapped(text: str, width: int, signs: Signs) -> list[str]:
    """Folded between its parts; inside one, or inside a word, only where it must be."""
    *parts, last = text.split(f" {signs.dot} ")
    lines = [""]
    for part in (*(f"{part} {signs.dot}" for part in parts), last):
        for piece in [part] if cell_len(part) <= width else part.split(" "):
            if cell_len(f"{lines[-1]} {piece}") <= width:
                lines[-1] += f" {piece}" if lines[-1] else piece
            else:
                lines += chop_cells(piece, width)
    return [line for line in lines if line]


def sentence(one: Series, signs: Signs) -> str:
    """A series and its figures in one line."""
    cells = dict(zip(HEADS, one.cells, strict=True))
    parts = [_said(head, cell) for head, cell in cells.items() if cell != "-"]
    return f"{one_line(one.label)}: {f' {signs.dot} '.join(parts)}"


def _said(head: str, cell: str) -> str:
    """A cell with its head for one that stands alone: p50 20.9 ms, 200 tokens, length."""
    name, _, unit = head.partition(" ")
    if unit:
        return f"{name} {cell} {unit}"
    if name == "end":
        return cell
    return f"{cell} {name[:-1] if cell == '1' else name}"


def figures(shown: Sequence[Shown], width: int, signs: Signs, *, head_style: str = "") -> list[str]:
    """A sentence for one series; for several a line each, under a head."""
    if len(shown) == 1:
        return wrapped(sentence(shown[0].series, signs), width, signs)
    rows = [dict(zip(HEADS, one.series.cells, strict=True)) for one in shown]
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) + _GAP for head in HEADS}
    labels = [plain(one.series.label, signs) for one in shown]
    longest = max(map(cell_len, labels))
    heads = _fitting(widths, width - _GAP - min(longest, _SHORTEST_LABEL, width // 4 + 2))
    room = min(longest, width - _GAP - sum(widths[head] for head in heads))
    head = "".join(head.rjust(widths[head]) for head in heads)
    lines = [styled(" " * (_GAP + room) + head, head_style)]
    for one, label, row in zip(shown, labels, rows, strict=True):
        cells = "".join(row[head].rjust(widths[head]) for head in heads)
        lines.append(f"{styled(one.letter, one.style)} {_sized(label, room, signs)}{cells}")
    return lines


def _sized(label: str, room: int, signs: Signs) -> str:
    """A label in exactly that many columns."""
    if cell_len(label) <= room:
        return set_cell_size(label, room)
    return set_cell_size(label, room - 1) + signs.ellipsis


def _fitting(widths: Mapping[str, int], room: int) -> list[str]:
    """The most wanted heads that fit into the room, in the order they have in HEADS."""
    kept: list[str] = []
    for head in _WANTED:
        if sum(widths[one] for one in (*kept, head)) <= room:
            kept.append(head)
    return [head for head in HEADS if head in kept]
