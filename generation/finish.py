"""Why a generation ended: exactly one of these, always."""

from __future__ import annotations

from enum import Enum


class FinishReason(str, Enum):
    """The six things that end a generation, told apart, and the seventh: it broke."""

    EOS = "eos"
    """The model said so with an end token."""
    STOP = "stop"
    """A stop string appeared."""
    LENGTH = "length"
    """The number of tokens asked for was reached."""
    CONTEXT = "context"
    """The context is full."""
    INTERRUPTED = "interrupted"
    """A signal."""
    DISCONNECTED = "disconnected"
    """Nobody reads the output any more."""
    TIMEOUT = "timeout"
    """The time allowed is over."""
    STALLED = "stalled"
    """The engine gave no sign of life for too long."""
    ERROR = "error"
    """The engine failed."""
