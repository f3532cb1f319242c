"""Names and values in two columns: folded to the width of a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TypeAlias

from nextok.cli.console import is_terminal, one_line, use_color
from nextok.cli.invocation import Invocation

_LEAST_WIDTH = 12
"""Columns left for the values: with fewer a table shows none of them."""

Row: TypeAlias = tuple[str, str]


def print_table(rows: Sequence[Row], invocation: Invocation) -> None:
    """Print them on standard output."""
    rows = [(name, one_line(value)) for name, value in rows]
    names = max((len(name) for name, _ in rows), default=0)
    if is_terminal(sys.stdout) and get_terminal_size().columns < names + 2 + _LEAST_WIDTH:
        print("\n".join(f"{name}: {value}" for name, value in rows))
    elif is_terminal(sys.stdout):
        _print_folded(rows, invocation)
    else:
        print("\n".join(f"{name:{names}}  {value}" for name, value in rows))


def _print_folded(rows: Sequence[Row], invocation: Invocation) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    mode = invocation.resolved.output.color
    color = use_color(mode, terminal=True, environ=invocation.environ)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    console = Console(force_terminal=color, color_system="standard" if color else None)
    with console.capture() as page:
        console.print(table)
    sys.stdout.write(page.get())
