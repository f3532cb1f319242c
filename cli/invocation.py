"""What a command's function is given: one value, and nothing to look up elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nextok.cli.commands import CommandName
from nextok.cli.console import Console
from nextok.cli.resolution import Resolved
from nextok.cli.start import Start


class Invocation(NamedTuple):
    """One run of one command, its arguments checked."""

    command: CommandName
    words: tuple[str, ...]
    """Of the command line; a prompt's are in `resolved.prompt.prompt` already, joined."""
    resolved: Resolved
    start: Start
    console: Console
    environ: Mapping[str, str]
