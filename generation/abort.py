"""One flag that everything from outside trips, and that an engine can read without Python."""

from __future__ import annotations

from nextok.generation.finish import FinishReason


class Aborted(Exception):
    """A prefill or decode was cut short because the abort flag was tripped."""


class Abort:
    """Tripped at most once, from any thread, saying why.

    `cell` is two bytes of memory, 0 0 until it is tripped and 1 0 from then on: to C, a string
    whose length is the answer to "abort?".
    """

    def __init__(self) -> None:
        self.cell = bytearray(2)
        self.reason: FinishReason | None = None

    def trip(self, reason: FinishReason) -> None:
        """Ask for the end. The first reason is the one that counts."""
        if self.reason is None:
            self.reason = reason
            self.cell[0] = 1

    def rearm(self) -> None:
        """Make ready for the next generation."""
        self.reason = None
        self.cell[0] = 0

    def check(self) -> None:
        """Raise Aborted if the flag is up."""
        if self.reason is not None:
            raise Aborted
