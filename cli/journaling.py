"""What a generation leaves in the journal, however it ended: its figures, and no text unasked.

Promises that nothing is written before the answer is out, and one row at most. Listens as an
answer does, so that a generation of which nobody could tell the end has a row, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nextok.generation.errors import ContextError, EngineError, NextokError, OutputError
from nextok.generation.events import Event, Finish, Prefill, Threads, Token
from nextok.generation.finish import FinishReason
from nextok.generation.reasoning import Span, SpanKind
from nextok.generation.timings import Stopwatch

if TYPE_CHECKING:
    from pathlib import Path

    from nextok.backends.journal import LoggedText, Row
    from nextok.cli.commands import CommandName
    from nextok.cli.report import Outcome, RunFacts
    from nextok.cli.settings import JournalSettings


class Begun(NamedTuple):
    """What is known of a generation before its model is loaded."""

    command: CommandName
    model: str
    at: float
    """When its load began, in the clock's seconds."""
    asked: str
    """What the user wrote."""


class Notes:
    """An Answer that takes notes of one generation."""

    def __init__(
        self,
        begun: Begun,
        settings: JournalSettings,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
        quantization: Callable[[], str | None],
        loads: bool = True,
    ) -> None:
        """now: seconds since 1970. quantization: asked at the end. loads: whether the model is
        loaded for it."""
        self._begun = begun
        self._settings = settings
        self._clock = clock
        self._now = now
        self._quantization = quantization
        self._loads = loads
        self._facts: RunFacts | None = None
        self._finish: Finish | None = None
        self._watch = Stopwatch(begun.at)
        self._cached_tokens = 0
        self._completion_tokens = 0
        self._said: list[Span] = []
        self._is_written = False
        self.is_lost = False
        """Whether the row was to be written and could not be."""
        self.aside: Path | None = None
        """Where the journal is that was found broken when the row was written."""

    # -- while it goes on

    def start(self, facts: RunFacts, origin: float) -> None:
        self._facts = facts
        self._watch = Stopwatch(origin)

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        if self._settings.log_text:
            self._said.extend(spans)
        if isinstance(event, Token):
            self._completion_tokens += 1
            self._watch.token(event.at, event.gap)
        elif isinstance(event, Prefill):
            self._cached_tokens = event.cached
            self._watch.prefill(self._clock(), done=event.done == event.total)
        elif isinstance(event, Threads):
            if self._facts is not None:  # in case nobody can tell the end
                self._facts = self._facts._replace(threads=event.threads)
        elif isinstance(event, Finish):
            self._finish = event

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        """The last event has said it all but what changed on the way."""
        self._facts = facts

    def fail(self, message: str, code: int) -> None:
        """Whoever knows why says it at the end."""

    # -- at the end

    def write(self, reason: FinishReason | None = None) -> bool:
        """Leave the row, the first time this is called; whether there is one now.

        reason: why it ended, if the generation itself did not come to say it. Never raises, never
        waits for long.
        """
        ended = self._finish or self._cut(reason)
        if self._is_written or ended is None or not self._settings.remembers:
            return False
        self._is_written = True
        from nextok.backends.journal import user_journal

        is_kept = user_journal().add(self._row(ended), self._set_aside)
        self.is_lost = not is_kept
        return is_kept

    def _set_aside(self, path: Path) -> None:
        self.aside = path

    def _cut(self, reason: FinishReason | None) -> Finish | None:
        """The end as far as it was seen."""
        if reason is None:
            return None
        return Finish(
            reason=reason,
            text="",
            stop=None,
            error=None,
            prompt_tokens=self._facts.prompt_tokens if self._facts else 0,
            cached_tokens=self._cached_tokens,
            completion_tokens=self._completion_tokens,
            timings=self._watch.timings(self._clock()),
        )

    def _row(self, ended: Finish) -> Row:
        from nextok.backends.journal import Row
        from nextok.cli.version import version

        row = Row(
            ended_at=self._now(),
            command=self._begun.command,
            model=self._begun.model,
            quantization=self._quantization(),
            completion_tokens=ended.completion_tokens,
            finish=ended.reason.value,
            stop=ended.stop,
            load_seconds=self._load_seconds(),
            version=version(),
            text=self._text(),
        )
        return row if self._facts is None else _with_figures(row, self._facts, ended)

    def _load_seconds(self) -> float | None:
        if not self._loads:
            return None
        return self._facts.load_seconds if self._facts else self._clock() - self._begun.at

    def _text(self) -> LoggedText | None:
        if not self._settings.log_text:
            return None
        from nextok.backends.journal import LoggedText

        said = {
            kind: "".join(text for one, text in self._said if one is kind)
            for kind in (SpanKind.ANSWER, SpanKind.REASONING)
        }
        return LoggedText(
            prompt=self._begun.asked,
            answer=said[SpanKind.ANSWER],
            reasoning=said[SpanKind.REASONING],
        )


def _with_figures(row: Row, facts: RunFacts, ended: Finish) -> Row:
    """With all there is once the model had its prompt."""
    timings, latency = ended.timings, ended.timings.latency
    row = row._replace(
        threads=facts.threads,
        prompt_tokens=ended.prompt_tokens,
        cached_tokens=ended.cached_tokens,
        ttft_seconds=timings.ttft_seconds,
        prefill_seconds=timings.prefill_seconds,
        total_seconds=timings.total_seconds,
        seed=facts.sampling.seed,
    )
    if latency is None:
        return row
    return row._replace(
        decode_seconds=timings.decode_seconds(ended.completion_tokens),
        itl_p50_seconds=latency.p50,
        itl_p95_seconds=latency.p95,
        itl_p99_seconds=latency.p99,
        itl_max_seconds=latency.max,
    )


def reason_of(error: NextokError) -> FinishReason | None:
    """How a generation ended that an error ended; None for one that never began."""
    if isinstance(error, ContextError):
        return FinishReason.CONTEXT
    return FinishReason.ERROR if isinstance(error, (EngineError, OutputError)) else None
