"""What a generation tells its consumers: one stream of events, read with a `for` loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nextok.generation.finish import FinishReason
from nextok.generation.timings import Timings


@dataclass(frozen=True)
class Prefill:
    """The model has read `done` of the prompt's `total` tokens, the first `cached` without work."""

    done: int
    total: int
    cached: int


@dataclass(frozen=True)
class Step:
    """One token, as the loop makes it: no text yet. `drafted` if speculation guessed it."""

    id: int
    at: float
    """When it was sampled, in the clock's seconds."""
    gap: float
    """Seconds since the token before it, the consumer's time included; a step's time shared among
    the tokens it yielded, which have the same `at`."""
    drafted: bool = False


@dataclass(frozen=True)
class Token:
    """One token and the text that became certain with it: none, one or several characters."""

    index: int
    id: int
    text: str
    at: float
    """When it was sampled, in the clock's seconds."""
    gap: float
    """Seconds the engine took since the token before it; for the first one, to draw it."""
    drafted: bool = False


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """What guessing ahead came to."""

    drafted: int
    """Guesses that were verified."""
    accepted: int
    """Those of them that came true."""
    steps: int
    """Passes that verified any."""
    gain: float | None
    """How many times as fast as one token a step it was; None where that cannot be told."""


@dataclass(frozen=True)
class Threads:
    """From token `index` on, `threads` compute, until there is another such event."""

    index: int
    threads: int


@dataclass(frozen=True)
class Finish:
    """The end. `text` is what was held back until now and turned out to be no stop string."""

    reason: FinishReason
    text: str
    stop: str | None
    error: Exception | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    timings: Timings
    speculation: Speculation | None = None
    """None when nothing was to be guessed."""


Event: TypeAlias = Prefill | Token | Threads | Finish
