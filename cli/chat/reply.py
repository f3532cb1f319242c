"""One reply, from the request to its last byte, watched for whatever may end it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.cli.deadlines import Deadlines, deadlines
from nextok.cli.delivery import Delivery
from nextok.cli.stdout import ReaderGone
from nextok.cli.watcher import Keyboard, Watcher
from nextok.generation.errors import EngineError
from nextok.generation.events import Event, Finish, Prefill, Threads, Token
from nextok.generation.finish import FinishReason
from nextok.generation.reasoning import Span

if TYPE_CHECKING:
    from nextok.cli.answer import Answer
    from nextok.cli.chat.engine import Engine, Request
    from nextok.cli.report import Outcome, RunFacts
    from nextok.cli.settings import StopSettings
    from nextok.generation.abort import Abort


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """How a reply ended."""

    facts: RunFacts
    outcome: Outcome
    raw: str
    """All of it, tags and reasoning included."""
    ids: tuple[int, ...]
    signal_number: int
    """The signal that ends the process with the reply; 0 when it goes on."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where replies are made. keyboard: None when nobody sits at it."""

    abort: Abort
    clock: Callable[[], float]
    keyboard: Keyboard | None
    last_words: Callable[[FinishReason], None]

    def watcher(self, limits: Deadlines) -> Watcher:
        """One that watches from now on; it is not started."""
        return Watcher(
            self.abort,
            limits,
            started=self.clock(),
            clock=self.clock,
            last_words=self.last_words,
            keyboard=self.keyboard,
        )


def speak(
    stage: Stage,
    engine: Engine,
    request: Request,
    facts: RunFacts,
    answers: Sequence[Answer],
    stops: StopSettings,
) -> Spoken:
    """Make the reply and hand it on. A reader that has gone is an ending like any other."""
    began = request.asked_at
    guarded = [Guarded(answer, stage.abort) for answer in answers]
    delivery = Delivery(guarded, lambda: stage.clock() - began)
    watcher = stage.watcher(deadlines(stops))
    raw: list[str] = []
    ids: list[int] = []
    watcher.start()
    try:
        delivery.start(facts, began, request.splitter)
        for event in watcher.watched(engine.events(request, stage.clock, began)):
            if isinstance(event, Finish):
                watcher.came_back()
            if not isinstance(event, (Prefill, Threads)):
                raw.append(event.text)
            if isinstance(event, Token):
                ids.append(event.id)
            delivery.event(event)
    finally:
        watcher.stop()
    if delivery.outcome is None:
        raise EngineError("the generation ended without a word about why")
    return Spoken(
        facts=delivery.facts or facts,  # as they were at the end
        outcome=delivery.outcome,
        raw="".join(raw),
        ids=tuple(ids),
        signal_number=watcher.signal_number,
    )


class Guarded:
    """An answer whose reader may go away: the generation ends then, and nobody is told."""

    def __init__(self, answer: Answer, abort: Abort) -> None:
        self._answer = answer
        self._abort = abort

    def start(self, facts: RunFacts, origin: float) -> None:
        self._tell(lambda: self._answer.start(facts, origin))

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        self._tell(lambda: self._answer.event(event, spans))

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        self._tell(lambda: self._answer.finish(facts, outcome))

    def fail(self, message: str, code: int) -> None:
        self._tell(lambda: self._answer.fail(message, code))

    def _tell(self, tell: Callable[[], None]) -> None:
        if self._abort.reason is FinishReason.DISCONNECTED:
            return
        try:
            tell()
        except ReaderGone:
            self._abort.trip(FinishReason.DISCONNECTED)


COMPLETE = (FinishReason.EOS, FinishReason.STOP, FinishReason.LENGTH)
"""A reply that ended so is one even when it has no words."""


def figures(outcome: Outcome, raw: str) -> Mapping[str, object]:
    """What is kept of a reply beside its words."""
    finish, timings = outcome.finish, outcome.finish.timings
    found: dict[str, object] = {
        "prompt_tokens": finish.prompt_tokens,
        "cached_tokens": finish.cached_tokens,
        "completion_tokens": finish.completion_tokens,
        "prefill_s": round(timings.prefill_seconds, 4),
    }
    if timings.ttft_seconds is not None:
        found["ttft_s"] = round(timings.ttft_seconds, 4)
    if timings.decode_tokens_per_second is not None:
        found["decode_tps"] = round(timings.decode_tokens_per_second, 2)
    if finish.reason not in COMPLETE[:2] and raw != outcome.text:
        found["raw"] = raw  # to go on from, if it is continued
    return found
