"""`nextok plot`: the time of every token of traces, in the terminal or as a picture."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from shutil import get_terminal_size

from nextok.cli.console import Console, is_terminal, one_line, use_color
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.plot_figures import sentence
from nextok.cli.plot_page import NARROWEST, Room, page
from nextok.cli.stdout import Stdout
from nextok.cli.terminal_signs import UNICODE, signs_for
from nextok.generation.errors import UsageError
from nextok.lab.latency_figures import Series, all_series, heading
from nextok.lab.picture_file import check_replaceable, form_of, write_picture
from nextok.lab.trace_file import TraceFile, read_trace

_MOST_NAMED = 5
"""Numbers of lines in a warning."""


def plot(invocation: Invocation) -> int:
    """Draw here, or into the file of -o. UsageError for a trace that has nothing to draw."""
    target = invocation.resolved.plot.picture
    form = None if target is None else form_of(target)
    series = _read(invocation.words, invocation.console)
    if target is None or form is None:
        _show(series, invocation)
        return ANSWERED
    from nextok.lab.latency_plot import latency_picture

    check_replaceable(target)
    write_picture(target, latency_picture(series, form))
    invocation.console.note(f"drew {target}")
    return ANSWERED


def _read(paths: Sequence[str], console: Console) -> list[Series]:
    """What there is to draw, and a word about what there is not."""
    if not paths:
        raise UsageError("say which file to plot: nextok --trace FILE … writes one")
    traces = [_trace(path) for path in paths]
    for trace in traces:
        _warn(trace, console)
    series = all_series(traces)
    if not series:
        which = paths[0] if len(paths) == 1 else "no trace"
        verb = "has no" if len(paths) == 1 else "has a"
        raise UsageError(f"{which} {verb} gap between tokens: two are the least to plot")
    return series


def _trace(path: str) -> TraceFile:
    if path != "-":
        return read_trace(path)
    if is_terminal(sys.stdin):
        raise UsageError("- is standard input: nextok --jsonl … | nextok plot -")
    return read_trace("standard input", sys.stdin.buffer)


def _warn(trace: TraceFile, console: Console) -> None:
    if trace.bad_lines:
        count, first = len(trace.bad_lines), ", ".join(map(str, trace.bad_lines[:_MOST_NAMED]))
        more = ", …" if count > _MOST_NAMED else ""
        left_out = "1 line that belongs" if count == 1 else f"{count} lines that belong"
        console.warning(f"{trace.path}: {left_out} into no trace left out: {first}{more}")
    if trace.cut:
        console.warning(f"{trace.path}: the last line is cut off: left out")
    empty = sum(not one.gaps for one in trace.generations)
    if 0 < empty < len(trace.generations):
        what = "1 answer" if empty == 1 else f"{empty} answers"
        console.note(f"{trace.path}: {what} of less than two tokens left out")


def _show(series: Sequence[Series], invocation: Invocation) -> None:
    """A page as wide as the terminal; where there is none, or a narrow one, a line a series."""
    size = get_terminal_size()
    stdout = Stdout(clock=time.monotonic, encoding=sys.stdout.encoding)
    if not is_terminal(sys.stdout) or size.columns < NARROWEST:
        first = " · ".join(filter(None, heading(series)))
        lines = [one_line(first), *(sentence(one, UNICODE) for one in series)]
        stdout.text("".join(f"{line}\n" for line in lines))
        return
    environ, mode = invocation.environ, invocation.resolved.output.color
    room = Room(
        columns=size.columns,
        lines=size.lines,
        signs=signs_for(sys.stdout.encoding, environ.get("TERM", "")),
        color=use_color(mode, terminal=True, environ=environ),
    )
    stdout.drawn("".join(f"{line}\n" for line in page(series, room)))
