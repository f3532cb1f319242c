"""The forms an answer takes: plain text, one JSON object, a line of JSON an event.

Each takes the same events; none knows where they come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Protocol

from nextok.cli.report import Outcome, RunFacts, as_json
from nextok.cli.settings import ThinkMode
from nextok.cli.stdout import Stdout
from nextok.generation.events import Event, Prefill, Threads, Token
from nextok.generation.reasoning import Span, SpanKind

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Answer(Protocol):
    """A consumer of one generation."""

    def start(self, facts: RunFacts, origin: float) -> None:
        """It is about to begin; `origin` is when the model was loaded."""

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        """One event, and its text told apart into answer and reasoning."""

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        """It has ended, for whatever reason but a reader that is gone."""

    def fail(self, message: str, code: int) -> None:
        """It failed before the first token."""


class PlainAnswer:
    """What the model said, as it says it, and one final newline."""

    def __init__(
        self, stdout: Stdout, think: ThinkMode, tint: Callable[[str], None] | None = None
    ) -> None:
        """tint: writes the answer itself on a terminal, in colours."""
        self._stdout = stdout
        self._think = think
        self._tint = tint
        self._dimmed = False

    def start(self, facts: RunFacts, origin: float) -> None:
        """Nothing is said before the model speaks."""

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        for kind, text in spans:
            if kind is SpanKind.ANSWER:
                self._brighten()
                self._say(text)
            elif self._think == "show":
                self._stdout.text(text)
            elif kind is SpanKind.REASONING and self._think == "dim":
                self._dim()
                self._stdout.text(text)

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        self.restore()
        self._stdout.end_line()

    def fail(self, message: str, code: int) -> None:
        """The error goes to standard error alone."""
        self.restore()
        self._stdout.end_line()

    def restore(self) -> None:
        """Leave the terminal's colours as they were."""
        if self._dimmed:
            self._dimmed = False
            self._stdout.style(_PLAIN)

    def _say(self, text: str) -> None:
        if self._tint is None:
            self._stdout.text(text)
        else:
            self._tint(self._stdout.harmless(text))

    def _dim(self) -> None:
        if not self._dimmed:
            self._dimmed = True
            self._stdout.style(_DIM)

    def _brighten(self) -> None:
        """A blank line between the thinking and the answer."""
        if self._dimmed:
            self.restore()
            self._stdout.end_line()
            self._stdout.text("\n")


class JsonAnswer:
    """One object at the end."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line

    def start(self, facts: RunFacts, origin: float) -> None:
        """Nothing yet."""

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        """Nothing yet."""

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        self._write_line(json_text(as_json(facts, outcome)))

    def fail(self, message: str, code: int) -> None:
        self._write_line(json_text({"error": message, "code": code}))


class JsonLines:
    """A line an event: `start`, `prefill`, `token`, `threads`, `end`. Times: ms since the load."""

    def __init__(self, write_line: Callable[[str], None], turn: int | None = None) -> None:
        """turn: its number in a chat, from 1; in every line, then."""
        self._write_line = write_line
        self._turn = {} if turn is None else {"turn": turn}
        self._origin = 0.0

    def start(self, facts: RunFacts, origin: float) -> None:
        self._origin = origin
        self._line("start", facts.as_dict())

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        if isinstance(event, Prefill):
            self._line(
                "prefill", {"done": event.done, "total": event.total, "cached": event.cached}
            )
        elif isinstance(event, Token):
            self._line("token", self._token(event))
        elif isinstance(event, Threads):
            self._line("threads", {"i": event.index, "threads": event.threads})

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        self._line("end", as_json(facts, outcome))

    def fail(self, message: str, code: int) -> None:
        self._line("error", {"error": message, "code": code})

    def _token(self, token: Token) -> dict[str, object]:
        return {
            "i": token.index,
            "id": token.id,
            "text": token.text,
            "t_ms": round((token.at - self._origin) * 1000, 3),
            "gap_ms": round(token.gap * 1000, 3) if token.index else None,
            "drafted": token.drafted,
        }

    def _line(self, kind: str, fields: dict[str, object]) -> None:
        self._write_line(json_text({"type": kind, **self._turn, **fields}))


def json_text(value: object) -> str:
    """One line, plain ASCII: no locale and no terminal can be hurt by it."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
