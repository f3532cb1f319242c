"""The lines of a batch on a loaded model, from their tokens to their results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nextok.cli.batch_plan import Plan
from nextok.cli.batch_progress import BatchProgress
from nextok.cli.batch_prompts import Prepared
from nextok.cli.batch_report import Said, remember, result
from nextok.cli.batch_results import Results
from nextok.cli.loaded import Loaded
from nextok.cli.status import Status
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort
from nextok.generation.batching import Batch, Told, batched
from nextok.generation.events import Event, Finish, Prefill, Token
from nextok.generation.finish import FinishReason
from nextok.generation.request import Request

if TYPE_CHECKING:
    from nextok.backends.weights import Chain, Context
    from nextok.cli.batch_guesses import BatchGuesses

#: Endings of the whole run, after which a line is not answered: it will be another time.
_UNFINISHED = (FinishReason.INTERRUPTED, FinishReason.DISCONNECTED)


class _Answer:
    """What a line has said so far."""

    def __init__(self, chain: Chain, began_at: float) -> None:
        self.chain = chain
        self.began_at = began_at
        self.pieces: list[str] = []
        self.read = 0


class BatchRun:
    """Runs once; `reasons` has how lines ended."""

    def __init__(
        self,
        loaded: Loaded,
        prepared: Sequence[Prepared],
        plan: Plan,
        guesses: BatchGuesses | None,
        *,
        model: str,
        results: Results,
        abort: Abort,
        watcher: Watcher,
        status: Status,
    ) -> None:
        """model: as the journal names it."""
        self.reasons: list[FinishReason] = []
        self.progress = BatchProgress(status, len(prepared), time.monotonic)
        self._loaded = loaded
        self._prepared = prepared
        self._plan = plan
        self._guesses = guesses
        self._model = model
        self._results = results
        self._abort = abort
        self._watcher = watcher
        self._status = status
        self._answers: dict[int, _Answer] = {}
        self._place = 0
        """Of the line that the event at hand belongs to."""

    def run(self) -> None:
        """Answer all lines. Raises EngineError and ReaderGone."""
        loaded, plan = self._loaded, self._plan
        context = loaded.weights.open(plan.options(loaded), self._abort)
        told = batched(self._batch(context), self._requests())
        for event in self._watcher.watched(self._events(told)):
            self._take(event)
        if self._abort.reason is None:  # else the process ends, and the kernel frees its memory
            context.close()
            if self._guesses is not None:
                self._guesses.close()
            loaded.close()

    def _batch(self, context: Context) -> Batch:
        tokenizer, plan = self._loaded.weights.tokenizer, self._plan
        return Batch(
            model=context,
            piece=cache(tokenizer.piece),
            is_end=cache(tokenizer.is_end),
            clock=time.monotonic,
            abort=self._abort,
            parallel=min(plan.parallel, context.batch_size),
            capacity=plan.context_size,
            rows=context.batch_size,
            shared=plan.shared,
            guessing=None if self._guesses is None else self._guesses.guessing,
            root=plan.root,
            apart=not plan.unified,
        )

    def _requests(self) -> Iterator[Request]:
        """Each with its sampler, which is made when its turn comes."""
        limit = self._loaded.context_limit
        for place, one in enumerate(self._prepared):
            chain = self._loaded.weights.sampler(
                one.sampling, context_size=limit, history=one.prompt.ids
            )
            self._answers[place] = _Answer(chain, time.monotonic())
            yield Request(
                prompt=one.prompt.ids,
                sampler=chain,
                context_size=limit,
                max_tokens=one.stops.max_tokens,
                stops=one.stop_strings,
                timeout=one.stops.timeout,
                first_token_timeout=one.stops.first_token_timeout,
            )

    def _events(self, told: Iterator[Told]) -> Iterator[Prefill | Token | Finish]:
        for self._place, event in told:
            yield event

    def _take(self, event: Event) -> None:
        answer = self._answers[self._place]
        if isinstance(event, Token):
            answer.pieces.append(event.text)
            self.progress.said(1, event.at)
        elif isinstance(event, Prefill):
            if event.done == event.cached:
                answer.began_at = time.monotonic()
            self.progress.said(event.done - answer.read, time.monotonic())
            answer.read = event.done
        elif isinstance(event, Finish):
            self._finish(event, answer)

    def _finish(self, finish: Finish, answer: _Answer) -> None:
        place, loaded = self._place, self._loaded
        del self._answers[place]
        answer.chain.close()
        if finish.reason in _UNFINISHED:
            self._watcher.came_back()
            return
        text = "".join((*answer.pieces, finish.text))
        said = Said.of(self._prepared[place], finish, text, answer.began_at)
        self._status.clear()
        exact = loaded.exact and not self._plan.unified
        self._results.add(place, result(said, loaded.weights.name, exact=exact))
        remember(said, loaded, self._model, loads=not self.reasons)
        self.reasons.append(finish.reason)
        self.progress.finished()
