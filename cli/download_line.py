"""A download in one line of a terminal: name, bar, share, bytes, rate, and the time left.

When nothing comes, the end of the line says for how long instead; in trouble, what it is.
"""

from __future__ import annotations

import re
import sys

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nextok.backends.download import Progress, Stage
from nextok.cli.console import one_line
from nextok.cli.units import duration, size

STALLED = 2.0
"""Seconds without a byte that are worth a word."""
_MOST_NAME, _LEAST_NAME = 44, 12
_MOST_BAR, _LEAST_BAR = 30, 8
_PACE, _TAIL = 11, 20
"""Columns of the rate, and of all that stands behind the bytes: what is fixed does not jump."""
_EDGE = 3
"""Columns left free: a full line would wrap, and could not be replaced. ^C takes two of them."""
_GAP = 2
_PART = re.compile(r"-\d{5}-of-\d{5}$")


def download_line(progress: Progress) -> str:
    """The line with its escape codes, no wider than the terminal."""
    console = Console(file=sys.stderr, force_terminal=True, color_system="standard")
    width = max(20, console.width - _EDGE)
    with console.capture() as line:
        console.print(_row(progress, width), width=width, no_wrap=True, end="")
    return line.get().rstrip("\n ")


def _row(progress: Progress, width: int) -> RenderableType:
    figures = _figures(progress)
    name = _title(progress)
    left = width - sum(figure.cell_len + _GAP for figure in figures)
    room = min(_MOST_NAME, len(name), max(_LEAST_NAME, left - _LEAST_BAR - _GAP))
    bar = min(_MOST_BAR, left - room - _GAP)
    table = Table.grid(padding=(0, _GAP, 0, 0))
    cells: list[RenderableType] = [Text(shortened(name, room), "bold")]
    if bar >= _LEAST_BAR:
        total = max(1, progress.total)
        done = progress.done if progress.total else 1
        cells.append(ProgressBar(total=total, completed=done, width=bar))
    for _ in (*cells, *figures):
        table.add_column(no_wrap=True, overflow="crop")
    table.add_row(*cells, *figures)
    return table


def _figures(progress: Progress) -> list[Text]:
    if progress.stage in (Stage.WAITING, Stage.RETRYING):
        return [Text(_trouble(progress), "yellow")]
    share = progress.done * 100 // progress.total if progress.total else 100
    most = len(amounts(progress.total, progress.total))
    done = amounts(progress.done, progress.total).rjust(most)
    return [Text(f"{share:3}%"), Text(done, "green"), _tail(progress)]


def _tail(progress: Progress) -> Text:
    if progress.stage is Stage.CHECKING:
        text = Text("checking", "dim")
    elif progress.idle_seconds >= STALLED:
        text = Text(f"no data for {duration(progress.idle_seconds)}", "yellow")
    else:
        rate, left = progress.rate, progress.seconds_left
        text = Text("" if rate is None else f"{size(round(rate))}/s".rjust(_PACE), "cyan")
        text.append("" if left is None else f"  {countdown(left)}", "dim")
    text.pad_right(max(0, _TAIL - text.cell_len))
    return text


def _title(progress: Progress) -> str:
    name = one_line(progress.file.rpartition("/")[2]).removesuffix(".gguf")
    if progress.parts == 1:
        return name
    return f"{progress.part}/{progress.parts} {_PART.sub('', name)}"


def _trouble(progress: Progress) -> str:
    notice = one_line(progress.notice or "waiting")
    if progress.stage is Stage.RETRYING:
        return f"in {duration(progress.retry_seconds)} again: {notice}"
    return notice


def countdown(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any: 0:25, 1:06:40."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def amounts(done: int, total: int) -> str:
    """Both in the unit of the larger: 106.0/258.1 MiB."""
    value, unit = size(total).split(" ")
    scale = {"bytes": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4}[unit]
    digits = 1 if scale else 0
    return f"{done / 1024**scale:,.{digits}f}/{value} {unit}"


def shortened(name: str, room: int) -> str:
    """The name with its middle left out: the quantisation at its end tells models apart."""
    if len(name) <= room:
        return name
    tail = (room - 1) * 2 // 3
    return f"{name[: room - 1 - tail]}…{name[-tail:]}"
