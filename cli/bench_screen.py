"""What `nextok bench` shows on a terminal: the models, how fast they are, what the loop takes.

Tables of figures; the terminal's width and colours are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from nextok.cli.bench_report import Reported, ending, memory, others, settings
from nextok.cli.bench_words import LETTERS, against, measured, rate, rates, ratio, taken, who
from nextok.cli.console import one_line
from nextok.cli.units import brief, size
from nextok.generation.timings import Latency
from nextok.lab.bench_figures import Figures
from nextok.lab.noise import FEWEST, Finding, Ratio

_INKS = {Finding.NOISE: "dim", Finding.UNKNOWN: "dim"}
_LOSS = 0.98
"""A loop below so much of the bare one's speed is said in red."""


def page(reported: Reported, *, columns: int, color: bool) -> str:
    """All of it, as text."""
    console = Console(
        width=columns,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
    )
    with console.capture() as text:
        for part in _parts(reported):
            console.print(part)
    return text.get()


def _parts(reported: Reported) -> Iterable[RenderableType]:
    figures = reported.figures
    yield from _head(reported)
    if figures.speeds:
        yield _gap()
        yield _speeds(reported)
    if figures.answers:
        yield _gap()
        yield _latencies(reported)
        yield _gap()
        yield _loops(reported)
    yield _gap()
    yield from (Text(one, "dim") for one in _foot(reported))


def _head(reported: Reported) -> Iterable[RenderableType]:
    for index, one in enumerate(reported.models):
        letter = f"{LETTERS[index]}  " if len(reported.models) > 1 else ""
        yield Text(one_line(f"{letter}{one.name}"), "bold")
        yield Text(memory(one, reported.plan), "dim")
    tokens = f"{reported.plan.tokens} tokens a decode"
    yield Text(f"{ending(reported)} · {tokens} · {settings(reported)}", "dim")


def _speeds(reported: Reported) -> Table:
    compared, plan = against(reported.plan), reported.plan
    table = _table("tokens/s", ["", "median", "low to high", *filter(None, [compared])])
    last = ""
    for one in reported.figures.speeds:
        title = measured(one.measure)
        cells = [who(plan, one.subject), rate(one.spread.median), rates(one.spread)]
        times = [_ratio(one.ratio)] if compared else []
        table.add_row("" if title == last else Text(title, "bold"), *cells, *times)
        last = title
    return table


def _latencies(reported: Reported) -> Table:
    table = _table("answers", ["", "p50", "p95", "p99", "max"])
    for name in ("TTFT", "ITL"):
        for index, one in enumerate(reported.figures.answers):
            found = one.ttft if name == "TTFT" else one.itl
            title = Text(name, "bold") if index == 0 else ""
            table.add_row(title, who(reported.plan, one.subject), *_times(found))
    return table


def _loops(reported: Reported) -> Table:
    table = _table("tokens/s of", ["", "the loop", "bare loop", "the loop takes"])
    for index, one in enumerate(reported.figures.answers):
        bare = "-" if one.bare is None else rate(one.bare.median)
        lost = one.ratio is not None and one.ratio.high < _LOSS
        price = Text(taken(one.ratio), "red" if lost else _ink(one.ratio, "green"))
        title = Text("answers", "bold") if index == 0 else ""
        table.add_row(
            title, who(reported.plan, one.subject), rate(one.loop.median), bare, price
        )  # fmt: skip
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column(title, no_wrap=True)
    for index, name in enumerate(columns):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=index < 2)
    return table


def _ratio(found: Ratio | None) -> Text:
    if found is None:
        return Text("")
    return Text(ratio(found), _ink(found, "green" if found.median > 1 else "yellow"))


def _ink(found: Ratio | None, sure: str) -> str:
    return "dim" if found is None else _INKS.get(found.finding, sure)


def _times(found: Latency) -> Sequence[str]:
    return [brief(value) for value in (found.p50, found.p95, found.p99, found.max)]


def _gap() -> Text:
    return Text("")


def _foot(reported: Reported) -> Iterable[str]:
    yield f"peak memory of the process {size(reported.peak_resident)}"
    yield from filter(None, [others(reported)])
    yield from _doubts(reported.figures)


def _doubts(figures: Figures) -> Iterable[str]:
    """What the ratios' marks mean, of those that are there."""
    ratios = [one.ratio for one in figures.speeds] + [one.ratio for one in figures.answers]
    findings = {one.finding for one in ratios if one is not None}
    if findings:
        yield "ratios: the median of the rounds' own ratios, and where the true one lies (90 %)"
        yield "bare loop: the same sampler and model in turn, without text and events"
    if Finding.NOISE in findings:
        yield "noise: the difference is no larger than the noise"
    if Finding.UNKNOWN in findings:
        yield f"?: fewer than {FEWEST} rounds do not tell a difference from noise"
