"""`nextok default`: which model answers when none is named, kept in the config file."""

from __future__ import annotations

from nextok.backends.locate import find_starter
from nextok.cli.config_writer import set_entry
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.naming import lasting


def default(invocation: Invocation) -> int:
    """Set it, or without a word print it."""
    console, resolved = invocation.console, invocation.resolved
    if not invocation.words:
        return _tell(invocation)
    (reference,) = invocation.words
    known = reference in resolved.config.aliases
    target = reference if known else lasting(reference)
    set_entry(resolved.config.path, "defaults", "model", target)
    console.note(f"{target} answers from now on ({resolved.config.path})")
    return ANSWERED


def _tell(invocation: Invocation) -> int:
    model = invocation.resolved.engine.model
    if model is not None:
        print(model)
        return ANSWERED
    starter = find_starter()
    if starter is not None:
        print(starter)
    invocation.console.note("no default is set: nextok default REF sets one")
    return ANSWERED
