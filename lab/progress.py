"""How an experiment says how far it is. Knows no terminal."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told often; shows what it likes of it."""

    def step(self, done: int, total: int, what: str) -> None:
        """So many of so many are done: `step(3, 24, "prompts")`."""


class Silence:
    """Shows nothing: for tests, and for who wants only the findings."""

    def step(self, done: int, total: int, what: str) -> None:
        """Not shown."""
