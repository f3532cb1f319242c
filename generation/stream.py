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

    piece: the bytes of a token. origin: when the model was loaded, in the job's clock.
    Raises ContextError before the first event. An engine's failure is a Finish with its error,
    after what was said until then.
    """
    text = _Text(stops)
    watch = Stopwatch(origin)
    counts = _Counts(prompt=len(job.prompt))
    steps = _Steps(loop(job))
    error: EngineError | None = None
    try:
        for step in steps:
            if isinstance(step, Prefill):
                counts.prefill(step, watch, job.clock())
                yield step
                continue
            watch.token(step.at, step.gap)
            words = text.feed(piece(step.id))
            yield _token(counts.completion, step, words)
            counts.completion += 1
            if text.stop is not None:
                steps.reason = FinishReason.STOP
                break
    except Aborted:
        steps.reason = abort.reason or FinishReason.INTERRUPTED
    except EngineError as failure:
        steps.reason, error = FinishReason.ERROR, failure
    tail = text.close(cut=steps.reason in CUT)
    reason = FinishReason.STOP if text.stop is not None else steps.reason
    yield counts.finish(reason, tail, text.stop, error, watch, job.clock())


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


class _Counts:
    """How many tokens of each kind."""

    def __init__(self, *, prompt: int) -> None:
        self.prompt = prompt
        self.cached = 0
        self.completion = 0
        self._began = 0.0

    def prefill(self, event: Prefill, watch: Stopwatch, now: float) -> None:
        if event.done == event.cached:
            self.cached, self._began = event.cached, now
        watch.prefill_seconds = now - self._began

    def finish(
        self,
        reason: FinishReason,
        tail: str,
        stop: str | None,
        error: Exception | None,
        watch: Stopwatch,
        now: float,
    ) -> Finish:
        return Finish(
            reason=reason,
            text=tail,
            stop=stop,
            error=error,
            prompt_tokens=self.prompt,
            cached_tokens=self.cached,
            completion_tokens=self.completion,
            timings=watch.timings(now),
        )


def _token(index: int, step: Step, words: str) -> Token:
    return Token(index, step.id, words, step.at, step.gap, step.drafted)
