"""`nextok render`: the exact text the model would get."""

from __future__ import annotations

from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import load_prompt, plain_stdout


def render(invocation: Invocation) -> int:
    """Print it: byte for byte into a pipe, ended by a newline on a terminal."""
    prompt, _ = load_prompt(invocation)
    stdout = plain_stdout()
    stdout.text(prompt.text)
    if stdout.is_terminal:
        stdout.end_line()
    return ANSWERED
