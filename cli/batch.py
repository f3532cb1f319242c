"""`nextok batch`: many prompts answered together, a line of JSON each."""

from __future__ import annotations

from nextok.cli.invocation import Invocation
from nextok.generation.errors import UsageError


def batch(invocation: Invocation) -> int:
    """Answer all lines; the exit code. Endings from outside may end the process instead."""
    raise UsageError(f"cannot read {' '.join(invocation.words)}: not yet")
