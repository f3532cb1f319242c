"""What is remembered of one generation: figures, and text only where it was asked for.

Knows nothing of files. A figure that does not exist is None: one token has no latency between
tokens, and a run that was interrupted while it loaded has no prompt yet.

The classes are made when a process is about to end, and that should take no time: tuples take a
fifth of what frozen dataclasses do, if their types are types and not texts to be parsed.
"""

from typing import NamedTuple


class LoggedText(NamedTuple):
    """What was said, for those who want it remembered."""

    prompt: str
    answer: str
    reasoning: str = ""


class Row(NamedTuple):
    """One generation. Times in seconds."""

    ended_at: float
    """Since 1970, UTC."""
    command: str
    """Who asked for it: `generate`, `chat`."""
    model: str
    finish: str
    """A FinishReason's value."""
    version: str
    """Of nextok."""
    quantization: str | None = None
    threads: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the prompt's: those that were not read again."""
    completion_tokens: int = 0
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
    text: LoggedText | None = None


FIGURES = tuple(name for name in Row._fields if name not in ("model", "quantization", "text"))
"""The columns of a generation; its model and its text are in tables of their own."""


class LoggedModel(NamedTuple):
    """A model that something was generated with."""

    id: int
    name: str
    quantization: str | None
