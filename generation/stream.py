"""From steps to events: the text layer over any loop.

Promises that the text of all events together is exactly what the model said, minus the stop
string, in whole characters; and exactly one Finish, last. Closing the iterator cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import EngineError
from nextok.generation.events import Event, Finish, Prefill, Step, Token
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps
from nextok.generation.stops import StopMatcher
from nextok.generation.timings import Stopwatch
from nextok.generation.utf8 import Utf8

#: After these the model had no chance to complete a character.
CUT = frozenset(FinishReason) - {FinishReason.EOS, FinishReason.STOP}


def generate(
    job: Job,
    piece: Callable[[int], bytes],
    *,
    stops: Sequence[str] = (),
    abort: Abort,
    origin: float,
    loop: Callable[[Job], Steps] = plain_steps,
) -> Generator[Event, None, None]:
    """Run `loop` and put its tokens into words.

    piece: the bytes of a token. origin: when the waiting began (the model was loaded), in the
    job's clock.
    Raises ContextError before the first event. An engine's failure is a Finish with its error,
    after what was said until then. What the consumer takes between two events is no token's time.
    """
    clock, watch = job.clock, Stopwatch(origin)
    account = _Account(len(job.prompt), _Text(stops), piece, watch)
    steps = _Steps(loop(job))
    error: EngineError | None = None
    try:
        for step in steps:
            handed_over = clock()
            event = account.event(step, handed_over)
            yield event
            watch.rendered(clock() - handed_over)
            if account.stop is not None:
                steps.reason = FinishReason.STOP
                break
    except Aborted:
        steps.reason = abort.reason or FinishReason.INTERRUPTED
    except EngineError as failure:
        steps.reason, error = FinishReason.ERROR, failure
    yield account.finish(steps.reason, error, clock)


class _Steps:
    """A `for` loop over steps that remembers the reason they returned."""

    def __init__(self, steps: Steps) -> None:
        self.reason = FinishReason.ERROR
        self._steps = steps

    def __iter__(self) -> Iterator[Prefill | Step]:
        self.reason = yield from self._steps


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


class _Account:
    """What each step comes to in words, and all of them in figures."""

    def __init__(
        self, prompt: int, text: _Text, piece: Callable[[int], bytes], watch: Stopwatch
    ) -> None:
        """prompt: its tokens."""
        self._prompt = prompt
        self._text = text
        self._piece = piece
        self._watch = watch
        self._cached = 0
        self._completion = 0

    @property
    def stop(self) -> str | None:
        return self._text.stop

    def event(self, step: Prefill | Step, now: float) -> Prefill | Token:
        if isinstance(step, Prefill):
            self._cached = step.cached
            self._watch.prefill(now, done=step.done == step.total)
            return step
        gap = self._watch.token(step.at, step.gap)
        words = self._text.feed(self._piece(step.id))
        index, self._completion = self._completion, self._completion + 1
        return Token(index, step.id, words, step.at, gap, step.drafted)

    def finish(
        self, reason: FinishReason, error: Exception | None, clock: Callable[[], float]
    ) -> Finish:
        tail = self._text.close(cut=reason in CUT)
        return Finish(
            reason=reason if self.stop is None else FinishReason.STOP,
            text=tail,
            stop=self.stop,
            error=error,
            prompt_tokens=self._prompt,
            cached_tokens=self._cached,
            completion_tokens=self._completion,
            timings=self._watch.timings(clock()),
        )
