"""`nextok stats`: what the journal says of all generations, or of some."""

from __future__ import annotations

import sys
from shutil import get_terminal_size

from nextok.backends.journal_statistics import statistics
from nextok.backends.shown_text import shown
from nextok.cli.answer import json_text
from nextok.cli.asked_journal import EMPTY, asked_journal
from nextok.cli.console import is_terminal, use_color
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.stats_look import Look
from nextok.cli.stats_report import Reported, as_json, as_rows
from nextok.cli.stats_screen import page
from nextok.cli.table import print_table
from nextok.cli.terminal_signs import UNICODE, signs_for


def stats(invocation: Invocation) -> int:
    """Print a page, lines of names and values in a pipe, or one JSON object."""
    with asked_journal(invocation) as asked:
        found = statistics(asked.queries, asked.models)
        is_empty = not asked.queries.models()
    reported = Reported(
        statistics=found, since=asked.since, only_model=invocation.resolved.journal.only_model
    )
    if invocation.resolved.output.json:
        plain_stdout().line(json_text(as_json(reported)))
    elif not found.generations:
        if not is_terminal(sys.stdout):
            print_table([("generations", "0")], invocation)
        invocation.console.note(EMPTY if is_empty else "no generation since then")
    elif is_terminal(sys.stdout):
        lines = page(reported, _look(invocation))
        plain_stdout().drawn("".join(f"{line}\n" for line in lines))
    else:
        print_table(as_rows(reported), invocation)
    for path in asked.aside:
        invocation.console.note(f"not counted: {shown(path)}, a journal that was damaged")
    return ANSWERED


def _look(invocation: Invocation) -> Look:
    environ, mode = invocation.environ, invocation.resolved.output.color
    signs = signs_for(sys.stdout.encoding, environ.get("TERM", ""))
    return Look(
        columns=get_terminal_size().columns,
        signs=signs,
        fine=signs is UNICODE,
        color=use_color(mode, terminal=True, environ=environ),
    )
