"""What an experiment found, as a person reads it in a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from shutil import get_terminal_size

from nextok.cli.console import is_terminal, one_line, use_color
from nextok.cli.lab_chart import chart_lines
from nextok.cli.plot_figures import plain, wrapped
from nextok.cli.plot_page import NARROWEST, Room
from nextok.cli.settings import ColorMode
from nextok.cli.terminal_plot import styled
from nextok.cli.terminal_signs import signs_for
from nextok.lab.findings import Findings

_BOLD, _DIM = "\x1b[1m", "\x1b[2m"


def found_lines(findings: Findings, room: Room | None) -> list[str]:
    """A page with charts; without room for one the title and the sentences, a line each."""
    if room is None:
        return [one_line(text) for text in (_headline(findings), *findings.sentences)]
    return list(_page(findings, room))


def room_of(mode: ColorMode, environ: Mapping[str, str]) -> Room | None:
    """What there is to draw on; None where standard output is no terminal, or a narrow one."""
    size = get_terminal_size()
    if not is_terminal(sys.stdout) or size.columns < NARROWEST:
        return None
    return Room(
        columns=size.columns,
        lines=size.lines,
        signs=signs_for(sys.stdout.encoding, environ.get("TERM", "")),
        color=use_color(mode, terminal=True, environ=environ),
    )


def _headline(findings: Findings) -> str:
    return findings.title if findings.complete else f"{findings.title} (cut short)"


def _page(findings: Findings, room: Room) -> Iterator[str]:
    signs = room.signs
    yield styled(plain(_headline(findings), signs), _BOLD if room.color else "")
    yield styled(plain(findings.command, signs), _DIM if room.color else "")
    for chart in findings.charts:
        yield ""
        yield from chart_lines(chart, room)
    yield ""
    for sentence in findings.sentences:
        yield from wrapped(plain(sentence, signs), room.width, signs)
