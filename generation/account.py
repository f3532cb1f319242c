"""One generation's account: what each step comes to in words, and all of them in figures.

Promises that the text of all events together is exactly what the model said, minus the stop
string, in whole characters. Knows no loop: whoever has a step asks for its event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nextok.generation.events import Finish, Prefill, Step, Token
from nextok.generation.finish import FinishReason
from nextok.generation.stops import StopMatcher
from nextok.generation.timings import Stopwatch
from nextok.generation.utf8 import Utf8

#: After these the model had no chance to complete a character.
CUT = frozenset(FinishReason) - {FinishReason.EOS, FinishReason.STOP}


class Account:
    """Of one generation. All times in one clock's seconds."""

    def __init__(
        self,
        prompt_tokens: int,
        piece: Callable[[int], bytes],
        *,
        stops: Sequence[str],
        origin: float,
    ) -> None:
        """piece: the bytes of a token. origin: when the waiting began."""
        self._prompt = prompt_tokens
        self._text = _Text(stops)
        self._piece = piece
        self._watch = Stopwatch(origin)
        self._cached = 0
        self._completion = 0

    @property
    def stop(self) -> str | None:
        """The stop string that was found: nothing more will be said."""
        return self._text.stop

    def event(self, step: Prefill | Step, now: float) -> Prefill | Token:
        """What a step comes to."""
        if isinstance(step, Prefill):
            self._cached = step.cached
            self._watch.prefill(now, done=step.done == step.total)
            return step
        gap = self._watch.token(step.at, step.gap)
        words = self._text.feed(self._piece(step.id))
        index, self._completion = self._completion, self._completion + 1
        return Token(index, step.id, words, step.at, gap, step.drafted)

    def rendered(self, seconds: float) -> None:
        """The consumer took so long over the last event."""
        self._watch.rendered(seconds)

    def finish(self, reason: FinishReason, error: Exception | None, now: float) -> Finish:
        """The end. A stop string that is found with it is the reason."""
        tail = self._text.close(cut=reason in CUT)
        return Finish(
            reason=reason if self.stop is None else FinishReason.STOP,
            text=tail,
            stop=self.stop,
            error=error,
            prompt_tokens=self._prompt,
            cached_tokens=self._cached,
            completion_tokens=self._completion,
            timings=self._watch.timings(now),
        )


class _Text:
    """Bytes to characters to text that is certain."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._utf8 = Utf8()
        self._matcher = StopMatcher(stops)

    @property
    def stop(self) -> str | None:
        return self._matcher.found

    def feed(self, piece: bytes) -> str:
        return self._matcher.feed(self._utf8.feed(piece))

    def close(self, *, cut: bool) -> str:
        if self.stop is not None:
            return ""
        last = self._matcher.feed(self._utf8.close(cut=cut))
        return last if self.stop is not None else last + self._matcher.close()
