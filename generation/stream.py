"""From steps to events: the text layer over any loop.

Promises that the text of all events together is exactly what the model said, minus the stop
string, in whole characters; and exactly one Finish, last. Closing the iterator cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from nextok.generation.abort import Abort, Aborted
from nextok.generation.account import Account
from nextok.generation.errors import EngineError
from nextok.generation.events import Event, Prefill, Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps


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
    clock = job.clock
    account = Account(len(job.prompt), piece, stops=stops, origin=origin)
    steps = _Steps(loop(job))
    error: EngineError | None = None
    try:
        for step in steps:
            handed_over = clock()
            event = account.event(step, handed_over)
            yield event
            account.rendered(clock() - handed_over)
            if account.stop is not None:
                steps.reason = FinishReason.STOP
                break
    except Aborted:
        steps.reason = abort.reason or FinishReason.INTERRUPTED
    except EngineError as failure:
        steps.reason, error = FinishReason.ERROR, failure
    yield account.finish(steps.reason, error, clock())


class _Steps:
    """A `for` loop over steps that remembers the reason they returned."""

    def __init__(self, steps: Steps) -> None:
        self.reason = FinishReason.ERROR
        self._steps = steps

    def __iter__(self) -> Iterator[Prefill | Step]:
        self.reason = yield from self._steps
