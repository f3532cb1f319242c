"""What a trace knows of one generation. Values only: knows no files and no plots."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a trace knows of how it was made; None where it does not."""

    model: str | None = None
    quantization: str | None = None
    threads: int | None = None
    context_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class ThreadChange:
    """From token `index` on, as many threads computed."""

    index: int
    threads: int


@dataclass(frozen=True, kw_only=True)
class Generation:
    """One answer: the times of its tokens."""

    settings: RunSettings = RunSettings()
    turn: int | None = None
    """Its number in a chat."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    tokens: int = 0
    drafted_tokens: int = 0
    """Those of them that speculation had guessed."""
    ttft_seconds: float | None = None
    prefill_seconds: float | None = None
    indexes: tuple[int, ...] = ()
    """Of the tokens that have a gap, from 1 on: nothing comes before the first token."""
    gaps: tuple[float, ...] = ()
    """Seconds since the token before, in the order of `indexes`."""
    thread_changes: tuple[ThreadChange, ...] = ()
    """Of an adaptive run, in their order; each to another count than before."""
    ending: str | None = None
    """The finish reason, "error" for a generation that failed, None where the trace ends early."""

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """All that were used, from the first to the last; empty where the trace knows none."""
        first = () if self.settings.threads is None else (self.settings.threads,)
        return (*first, *(one.threads for one in self.thread_changes))
