"""Text from outside made fit for a message: the names of files, and what stands in them."""

from __future__ import annotations


def shown(value: object, limit: int = 1000) -> str:
    """One line of printable characters, and not an endless one."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))
    return text if len(text) <= limit else text[:limit] + "…"
