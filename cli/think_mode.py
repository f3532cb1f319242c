"""How the reasoning of a reply is shown, where it has no better place of its own."""

from __future__ import annotations

from collections.abc import Mapping

from nextok.cli.console import use_color
from nextok.cli.settings import OutputSettings, ThinkMode


def think_mode(output: OutputSettings, *, terminal: bool, environ: Mapping[str, str]) -> ThinkMode:
    """What was asked for, as far as standard output can do it: dim needs a terminal with colours.

    terminal: whether standard output is one. A pipe gets the answer alone unless asked for more.
    """
    asked = output.think
    if not terminal:
        return "show" if asked == "show" else "hide"
    if asked in ("show", "hide"):
        return asked
    return "dim" if use_color(output.color, terminal=True, environ=environ) else "show"
