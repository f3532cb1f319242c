"""Ctrl-C at an empty prompt: the first press explains, a second one soon after leaves."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

SOON = 1.0
"""Seconds."""
HOW_TO_LEAVE = "Ctrl-D or /bye leaves, Ctrl-C once more too"


class Press(Enum):
    """What a press of Ctrl-C means."""

    STRAY = auto()
    """It was meant for something that has ended by itself meanwhile."""
    CLEAR = auto()
    EXPLAIN = auto()
    LEAVE = auto()


class Interrupts:
    """The presses of one prompt."""

    def __init__(self, clock: Callable[[], float], quiet_until: float) -> None:
        self._clock = clock
        self._quiet_until = quiet_until
        self._pressed_at: float | None = None

    def press(self, *, empty: bool) -> Press:
        """What this one means; empty: there is no text that it could clear."""
        now, before = self._clock(), self._pressed_at
        if now < self._quiet_until:
            return Press.STRAY
        self._pressed_at = now if empty else None
        if not empty:
            return Press.CLEAR
        return Press.LEAVE if before is not None and now - before <= SOON else Press.EXPLAIN
