"""One question with two answers, asked of a person at a terminal and of nobody else."""

from __future__ import annotations

import signal
import sys

from nextok.cli.console import Console, is_terminal, one_line
from nextok.cli.invocation import Invocation
from nextok.generation.errors import UsageError

_YES, _NO = ("y", "yes"), ("n", "no")


def can_ask(console: Console) -> bool:
    """Whether somebody is there to read the question and to answer it."""
    return console.terminal and is_terminal(sys.stdin)


def agreed(question: str, console: Console, *, default: bool) -> bool:
    """Whether the answer is yes. Return alone is the default; an end of input is no."""
    choices = "[Y/n]" if default else "[y/N]"
    while True:
        console.ask(f"{one_line(question)} {choices} ")
        line = _line(console)
        if not line:
            console.ask("\n")
            return False
        word = line.strip().lower()
        if word in ("", *_YES, *_NO):
            return default if not word else word in _YES


def _line(console: Console) -> str:
    """What is typed; an interrupt ends the line on the terminal, too. Raises KeyboardInterrupt."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_DFL:  # else one that is ignored, or somebody's own
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline()
    except KeyboardInterrupt:
        console.ask("\n")
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def consents(question: str, invocation: Invocation, *, command: str) -> bool:
    """Whether the user agrees to a removal.

    Raises UsageError with the command that does not ask, where nobody can be asked.
    """
    if invocation.resolved.hub.yes:
        return True
    if not can_ask(invocation.console):
        raise UsageError(f"{question} Nobody is here to answer: run {command}")
    if agreed(question, invocation.console, default=False):
        return True
    invocation.console.note("nothing was removed")
    return False
