"""`nextok bench`: how fast a model reads and writes here, and what that takes."""

from __future__ import annotations

from nextok.cli.invocation import Invocation


def bench(invocation: Invocation) -> int:
    """Measure, and print what was found."""
    return 0
