"""`nextok search`: repositories of the hub that have GGUF files, the most downloaded first."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

from nextok.backends.hub import Hub
from nextok.backends.hub_files import Found
from nextok.cli.answer import json_text
from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.status import Status
from nextok.cli.watching import watching
from nextok.generation.abort import Abort
from nextok.generation.errors import UsageError

_COLUMNS = (
    Column(title="repository", style="bold", fold=True),
    Column(title="parameters", right=True, style="cyan"),
    Column(title="context", right=True),
    Column(title="downloads", right=True, style="green"),
    Column(title="likes", right=True),
    Column(title="updated", style="dim"),
    Column(title="access", style="yellow"),
)


def search(invocation: Invocation) -> int:
    """Print a table, or one JSON object."""
    words = " ".join(invocation.words).split()
    if not words:
        raise UsageError("say what to look for: nextok search smollm2 instruct")
    abort, status = Abort(), Status(invocation.console, time.monotonic)
    with watching(abort, status):
        status.show("asking the hub")
        hub = Hub(offline=invocation.resolved.hub.offline)
        found = hub.search(words, invocation.resolved.hub.limit)
    if invocation.resolved.output.json:
        plain_stdout().line(json_text({"models": [_as_dict(one) for one in found]}))
    elif found:
        print_columns(
            _COLUMNS, [_row(one) for one in found], invocation.resolved.output,
            foot=f"nextok pull {found[0].repo} fetches the first",
        )  # fmt: skip
    else:
        invocation.console.note("nothing found: fewer words find more")
    return ANSWERED


def _row(one: Found) -> list[str]:
    return [
        one.repo,
        "-" if one.parameters is None else _count(one.parameters),
        "-" if one.context_tokens is None else f"{one.context_tokens:,}",
        f"{one.downloads:,}",
        f"{one.likes:,}",
        "-" if one.updated is None else one.updated.date().isoformat(),
        "gated" if one.gated else "-",
    ]


def _as_dict(one: Found) -> Mapping[str, object]:
    updated = None if one.updated is None else one.updated.isoformat()
    return {**dataclasses.asdict(one), "updated": updated}


def _count(number: int) -> str:
    """Parameters as models are named after them: 362M, 7.6B."""
    return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"
