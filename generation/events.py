"""What a generation tells its consumers: one stream of events, read with a `for` loop."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from nextok.generation.finish import FinishReason
from nextok.generation.timings import Timings


class Prefill(NamedTuple):
    """The model has read `done` of the prompt's `total` tokens, the first `cached` without work."""

    done: int
    total: int
    cached: int


class Step(NamedTuple):
    """One token, as the loop makes it: no text yet. `drafted` if speculation guessed it."""

    id: int
    at: float
    """When it was sampled, in the clock's seconds."""
    gap: float
    """Seconds since the token before it, the consumer's time included; a step's time shared among
    the tokens it yielded, which have the same `at`."""
    drafted: bool = False


class Token(NamedTuple):
    """One token and the text that became certain with it: none, one or several characters."""

    index: int  # type: ignore[assignment]  # a tuple has a method of that name, which nobody calls
    id: int
    text: str
    at: float
    """When it was sampled, in the clock's seconds."""
    gap: float
    """Seconds the engine took since the token before it; for the first one, to draw it."""
    drafted: bool = False


class Speculation(NamedTuple):
    """What guessing ahead came to."""

    drafted: int
    """Guesses that were verified."""
    accepted: int
    """Those of them that came true."""
    steps: int
    """Passes that verified any."""
    gain: float | None
    """How many times as fast as one token a step it was; None where that cannot be told."""


class Threads(NamedTuple):
    """From token `index` on, `threads` compute, until there is another such event."""

    index: int  # type: ignore[assignment]
    threads: int


class Finish(NamedTuple):
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
