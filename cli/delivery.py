"""Carries one generation's events to whoever asked for them, and keeps what was said."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nextok.cli.answer import Answer
from nextok.cli.report import Outcome, RunFacts
from nextok.generation.events import Event, Finish, Prefill, Threads
from nextok.generation.reasoning import ReasoningSplitter, Span, SpanKind


class Delivery:
    """All the forms of one answer, together."""

    def __init__(self, answers: Sequence[Answer], first_byte: Callable[[], float]) -> None:
        """first_byte: seconds from process start to the first byte written."""
        self.outcome: Outcome | None = None
        self.facts: RunFacts | None = None
        self._answers = answers
        self._first_byte = first_byte
        self._splitter: ReasoningSplitter | None = None
        self._said: dict[SpanKind, list[str]] = {kind: [] for kind in SpanKind}

    def start(self, facts: RunFacts, origin: float, splitter: ReasoningSplitter | None) -> None:
        """splitter: None where the text is taken as it is, without any reasoning in it."""
        self.facts = facts
        self._splitter = splitter
        for answer in self._answers:
            answer.start(facts, origin)

    def event(self, event: Event) -> None:
        """Hand one event on, and the last one's consequences."""
        if isinstance(event, Threads) and self.facts is not None:
            self.facts = self.facts._replace(threads=event.threads)
        if isinstance(event, (Prefill, Threads)):
            spans: list[Span] = []
        else:
            spans = self._split(event.text)
        if isinstance(event, Finish):
            spans += self._splitter.close() if self._splitter else []
        for kind, text in spans:
            self._said[kind].append(text)
        for answer in self._answers:
            answer.event(event, spans)
        if isinstance(event, Finish):
            self._finish(event)

    def fail(self, message: str, code: int) -> None:
        """There will be no answer."""
        for answer in self._answers:
            answer.fail(message, code)

    def _split(self, text: str) -> list[Span]:
        if not text:
            return []
        if self._splitter is None:
            return [(SpanKind.ANSWER, text)]
        return self._splitter.feed(text)

    def _finish(self, finish: Finish) -> None:
        reasoned = self._said[SpanKind.REASONING] or self._said[SpanKind.TAG]
        self.outcome = Outcome(
            finish=finish,
            text="".join(self._said[SpanKind.ANSWER]),
            reasoning="".join(self._said[SpanKind.REASONING]) if reasoned else None,
            first_byte_seconds=self._first_byte(),
        )
        if self.facts is not None:
            for answer in self._answers:
                answer.finish(self.facts, self.outcome)
