"""What is remembered of one generation: figures, and text only where it was asked for.

Knows nothing of files. A figure that does not exist is None: one token has no latency between
tokens, and a run that was interrupted while it loaded has no prompt yet.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True)
class LoggedText:
    """What was said, for those who want it remembered."""

    prompt: str
    answer: str
    reasoning: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One generation. Times in seconds."""

    ended_at: float
    """Since 1970, UTC."""
    command: str
    """Who asked for it: `generate`, `chat`."""
    model: str
    quantization: str | None = None
    threads: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the prompt's: those that were not read again."""
    completion_tokens: int = 0
    finish: str
    """A FinishReason's value."""
    stop: str | None = None
    """The stop string that ended it."""
    load_seconds: float | None = None
    """Of the model: with the first generation after it alone."""
    ttft_seconds: float | None = None
    prefill_seconds: float | None = None
    decode_seconds: float | None = None
    """The engine's time from the first token to the last: the sum of all gaps."""
    total_seconds: float | None = None
    """Without the load."""
    itl_p50_seconds: float | None = None
    itl_p95_seconds: float | None = None
    itl_p99_seconds: float | None = None
    itl_max_seconds: float | None = None
    seed: int | None = None
    version: str
    """Of nextok."""
    text: LoggedText | None = None


FIGURES = tuple(
    one.name for one in fields(Row) if one.name not in ("model", "quantization", "text")
)
"""The columns of a generation; its model and its text are in tables of their own."""


@dataclass(frozen=True, kw_only=True)
class LoggedModel:
    """A model that something was generated with."""

    id: int
    name: str
    quantization: str | None
