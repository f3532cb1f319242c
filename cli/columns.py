"""Rows of several columns: with a head and folded on a terminal, plain aligned lines in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import TextIO

from nextok.cli.console import is_terminal, one_line, use_color
from nextok.cli.settings import OutputSettings

_LEAST_WIDTH = 30
"""Columns of a terminal: in fewer a table would be all ellipses."""
_EMPTY = ("", "-")
"""A column of nothing else is left out on a terminal; scripts count on all of them."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """What one column is called, and how it looks on a terminal."""

    title: str
    right: bool = False
    style: str = ""
    fold: bool = False
    """Whether it may take several lines where there is little room."""


def print_columns(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    output: OutputSettings,
    *,
    stream: TextIO | None = None,
    foot: str = "",
) -> None:
    """Print them on `stream` (standard output), and a dim line below on a terminal."""
    stream = stream or sys.stdout
    cells = [[one_line(cell) for cell in row] for row in rows]
    if is_terminal(stream) and get_terminal_size().columns >= _LEAST_WIDTH:
        stream.write(_handsome(columns, cells, output, foot, stream))
    elif cells:
        stream.write(_plain(columns, cells))


def _plain(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[index]) for row in rows) for index in range(len(columns))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _handsome(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    output: OutputSettings,
    foot: str,
    stream: TextIO,
) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    color = use_color(output.color, terminal=True, environ=os.environ)
    kept = [index for index in range(len(columns)) if any(row[index] not in _EMPTY for row in rows)]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for column in (columns[index] for index in kept):
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=not column.fold,
            overflow="fold" if column.fold else "ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(row[index], columns[index].style) for index in kept))
    console = Console(
        file=stream, force_terminal=color, color_system="standard" if color else None
    )  # fmt: skip
    with console.capture() as page:
        console.print(table)
        if foot:
            console.print(Text(one_line(foot), "dim"))
    return page.get()
