"""A reply as a person sees it: the reasoning dim or folded, the answer laid out as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nextok.cli.chat.screen import DIM, Screen
from nextok.cli.report import Outcome, RunFacts
from nextok.cli.status import Status
from nextok.cli.stdout import Stdout
from nextok.generation.events import Event, Finish, Prefill
from nextok.generation.finish import FinishReason
from nextok.generation.reasoning import Span, SpanKind

if TYPE_CHECKING:
    from nextok.cli.chat.markdown_plain import ReplyStream
    from nextok.cli.settings import ThinkMode


_ENDINGS = {
    FinishReason.LENGTH: ("stopped after {tokens} (--max-tokens)", "/continue goes on"),
    FinishReason.CONTEXT: ("the context is full", "/continue makes room and goes on"),
    FinishReason.INTERRUPTED: ("interrupted", "/continue goes on, /regen tries again"),
    FinishReason.TIMEOUT: ("out of time (--timeout)", "/continue goes on"),
    FinishReason.STALLED: ("the engine stalled (--stall-timeout)", "/continue goes on"),
}
"""How it ended, and what can be done when there is a reply to go on with."""


class Footer:
    """What is said before and after a reply, wherever its words go: how far the reading is, how
    it ended, and what it took."""

    def __init__(self, screen: Screen, status: Status, can_make_room: Callable[[], bool]) -> None:
        """can_make_room: whether older messages may leave a full context, and there are any."""
        self._screen = screen
        self._status = status
        self._can_make_room = can_make_room
        self._read = Prefill(0, 0, 0)
        """How far the reading is."""

    def start(self, facts: RunFacts, origin: float) -> None:
        """Nothing is shown before it takes long."""
        self._status.begin()

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        if isinstance(event, Prefill):
            self._read = event
            self._status.show(f"reading: {event.done:,} of {event.total:,} tokens")
        elif isinstance(event, Finish):
            self._status.clear()

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        reason = outcome.finish.reason
        if reason in _ENDINGS:
            what, hint = _ENDINGS[reason]
            if reason is FinishReason.CONTEXT and not self._can_make_room():
                hint = "/clear begins anew, a larger --ctx-size holds more"
            shown = [what, hint] if outcome.text or outcome.reasoning else [what]
            self._screen.note(" · ".join(shown).format(tokens=_tokens(outcome)))
        read = self._read
        if read.done < read.total:
            self._screen.note(f"read {read.done:,} of {read.total:,} tokens")
        else:
            self._screen.note(" · ".join(summary(outcome)))

    def fail(self, message: str, code: int) -> None:
        self._status.clear()


class ReplyView:
    """The words of one reply on the terminal. `think`: show tags and all, dim, or hide (folded)."""

    def __init__(
        self,
        stdout: Stdout,
        screen: Screen,
        status: Status,
        stream: Callable[[], ReplyStream],
        think: ThinkMode,
    ) -> None:
        self._stdout = stdout
        self._screen = screen
        self._status = status
        self._new_stream = stream
        self._think = think
        self._stream: ReplyStream | None = None
        self._thoughts = 0
        """Pieces of reasoning so far."""
        self._held = ""
        """Line ends that are shown when more reasoning follows."""

    def start(self, facts: RunFacts, origin: float) -> None:
        """Nothing is shown before the first word."""

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        for kind, text in spans:
            if kind is SpanKind.ANSWER or self._think == "show":
                self._answer(text)
            elif kind is SpanKind.REASONING:
                self._thought(text)

    def _answer(self, text: str) -> None:
        if self._stream is None:
            self._status.clear()
            self._end_thoughts()
            self._stream = self._new_stream()
        self._stream.feed(self._stdout.harmless(text))

    def _thought(self, text: str) -> None:
        self._thoughts += 1
        if self._think == "hide":
            self._status.draw(f"thinking: {self._thoughts:,} tokens")
            return
        self._status.clear()
        if self._thoughts == 1:
            self._stdout.style(DIM if self._screen.color else "")
            text = text.lstrip("\n")
        text = self._held + text
        shown = text.rstrip("\n")
        self._held = text[len(shown) :]
        self._stdout.text(shown)

    def _end_thoughts(self) -> None:
        if not self._thoughts:
            return
        if self._think == "hide":
            self._status.clear()
            self._screen.note(f"thought for {self._thoughts:,} tokens · /think shows it")
        else:
            self._screen.reset()
            self._stdout.end_line()
        self._screen.blank()

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        if self._stream is None:
            self._end_thoughts()
        else:
            self._stream.close()
        self._stdout.end_line()
        self._screen.blank()

    def fail(self, message: str, code: int) -> None:
        """What went wrong is said by others."""


def _tokens(outcome: Outcome) -> str:
    count = outcome.finish.completion_tokens
    return f"{count:,} token{'' if count == 1 else 's'}"


def summary(outcome: Outcome) -> list[str]:
    """The figures of the line below a reply."""
    finish, timings = outcome.finish, outcome.finish.timings
    new = finish.prompt_tokens - finish.cached_tokens
    parts = [f"{finish.cached_tokens:,} cached + {new:,} new → {_tokens(outcome)}"]
    if timings.ttft_seconds is not None:
        parts.append(f"TTFT {timings.ttft_seconds:.2f} s")
    if timings.decode_tokens_per_second is not None:
        parts.append(f"{timings.decode_tokens_per_second:.1f} tokens/s")
    return parts
