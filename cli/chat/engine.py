"""One model at work for a whole conversation: one context, and one cache that all turns share."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.backends.options import ContextOptions
from nextok.cli.chat.keeping import noted_model
from nextok.cli.chat.rendering import Rendering
from nextok.cli.console import Console
from nextok.cli.loaded import Loaded, warn_beyond_training
from nextok.cli.oneshot import splitter
from nextok.cli.thread_choice import adaptive
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError, NextokError
from nextok.generation.events import Event, Finish
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps
from nextok.generation.reading_along import ReadingAlong
from nextok.generation.sliding import Sliding, slide_to
from nextok.generation.stream import generate
from nextok.generation.thinking_budget import ThinkingBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from nextok.backends.adaptive_threads import AdaptiveThreads
    from nextok.backends.kv_store import KvStore
    from nextok.cli.prompting import PromptTokens
    from nextok.cli.speculation import Speculation
    from nextok.generation.model import Model, Sampler
    from nextok.generation.reasoning import ReasoningSplitter
    from nextok.generation.sampling import Sampling

_LONGEST_CHARACTER = 4
"""Bytes, and so the most tokens it can have begun in."""
_WORTH_KEEPING = 64
"""Tokens. Less is read again sooner than it is found on disk."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one reply is made from."""

    asked_at: float
    """When it was asked for, in the clock's seconds."""
    tokens: PromptTokens
    sampling: Sampling
    """With its seed drawn."""
    max_tokens: int
    stops: Sequence[str]
    splitter: ReasoningSplitter | None
    think_budget: int | None
    adapts: bool
    """Whether the thread count may change meanwhile."""
    repeatable: bool
    """Whether the same tokens are expected of every run."""
    begun: Sequence[int] = ()
    """Tokens of the reply that are in the prompt already: it goes on."""
    keep: int | None
    """Tokens at the beginning that stay when a full context slides; None: it does not."""


class Engine:
    """A loaded model that remembers what it has read.

    EngineError when no context can be made, ModelError when a draft model does not fit.
    """

    def __init__(self, loaded: Loaded, abort: Abort, console: Console) -> None:
        self.loaded = loaded
        self.weights = loaded.weights
        self.rendering = Rendering(loaded.weights, loaded.resolved.prompt, console)
        self._abort = abort
        self._open()
        self._speculation: Speculation | None = None
        try:
            self._speculation = self._guessing(abort, console)
        except NextokError:
            self.close()
            raise
        warn_beyond_training(loaded.engine.ctx_size, self.weights.trained_context, console)

    def _open(self) -> None:
        self._model = self.weights.open(self._options, self._abort)
        self._paced = adaptive(self._model, self.loaded)
        self.cache = self._model.new_cache()
        self._slid = False
        """Whether the cache may hold what no reading of its tokens would give."""

    def _open_anew(self) -> None:
        """After a failure: NaN in the memory would stay in the sums of whatever comes after it."""
        failed = self._model
        with suppress(EngineError):
            self._open()
            failed.close()

    @property
    def reference(self) -> str:
        """What finds this model again, from any folder."""
        return noted_model(self.loaded.resolved, self.weights.name)

    @property
    def context_size(self) -> int:
        """The most tokens, prompt and reply together."""
        return self._model.context_size

    def events(
        self, request: Request, clock: Callable[[], float], origin: float
    ) -> Iterator[Event]:
        """Make one reply. Only what the cache does not hold is read."""
        paced = self._paced if request.adapts else None
        model: Model = paced or self._frozen()
        if request.keep is not None:
            self._slid = True
            slide_to(self.cache, request.tokens.ids)
            model = Sliding(model, keep=request.keep)
        sampler = self.weights.sampler(
            request.sampling, context_size=self.context_size, history=request.tokens.ids
        )
        failed = False
        try:
            job = Job(
                model=model,
                cache=self.cache,
                sampler=self._budgeted(sampler, request),
                prompt=request.tokens.ids,
                is_end=self.weights.tokenizer.is_end,
                clock=clock,
                max_tokens=request.max_tokens,
            )
            for event in self._generated(job, request, paced, origin):
                failed = isinstance(event, Finish) and event.reason is FinishReason.ERROR
                yield event
        finally:
            sampler.close()
            if failed:
                self._open_anew()

    def _generated(
        self, job: Job, request: Request, paced: AdaptiveThreads | None, origin: float
    ) -> Iterator[Event]:
        events = generate(
            job,
            self._piece_after(request.begun),
            stops=request.stops,
            abort=self._abort,
            origin=origin,
            loop=self._loop(request),
        )
        if self._speculation is not None:
            events = self._speculation.followed(events)
        return paced.followed(events) if paced else events

    def _guessing(self, abort: Abort, console: Console) -> Speculation | None:
        """What guesses ahead, if something is to."""
        loaded = self.loaded
        if not loaded.guesses:
            return None
        from nextok.cli.speculation import speculation

        return speculation(
            loaded,
            self._options,
            abort,
            console,
            threads=lambda: self._paced.threads if self._paced else loaded.threads,
        )

    def _loop(self, request: Request) -> Callable[[Job], Steps]:
        """One token a step, or several: none for which a full context would have to slide."""
        if self._speculation is None:
            return plain_steps
        return self._speculation.loop(
            repeatable=request.repeatable,
            room=lambda: self.context_size - len(self.cache.tokens) - 1,
        )

    def _frozen(self) -> Model:
        """The model with as many threads as it began with."""
        return self._paced.frozen() if self._paced else self._model

    def _piece_after(self, begun: Sequence[int]) -> Callable[[int], bytes]:
        """The bytes of a token; the first comes with those of a character that was cut."""
        piece = self.weights.tokenizer.piece
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        decoder.decode(b"".join(map(piece, begun[-_LONGEST_CHARACTER:])))
        cut = [decoder.getstate()[0]]
        return lambda token: (cut.pop() if cut else b"") + piece(token)

    def _budgeted(self, sampler: Sampler, request: Request) -> Sampler:
        read = splitter(request.tokens)  # its own: what is shown may come later than it is drawn
        if request.think_budget is None or read is None:
            return sampler

        def closing() -> Sequence[int]:
            return self.weights.tokenizer.encode(f"\n{read.closing}\n\n", special=True)

        return ThinkingBudget(
            ReadingAlong(sampler, read, self._piece_after(request.begun)),
            budget=request.think_budget,
            in_reasoning=lambda: read.in_reasoning,
            closing=closing,
        )

    def restore(self, store: KvStore, key: str) -> int:
        """Take up the state kept under `key`; how many tokens need not be read again."""
        kept = store.get(key, self._identity)
        if kept is not None and len(kept.tokens) < self.context_size:
            self.cache.restore(kept.state, kept.tokens)
        return len(self.cache.tokens)

    def keep(self, store: KvStore, key: str) -> None:
        """Keep the state of the conversation, if it is worth it and what a fresh one would be."""
        if not self._slid and len(self.cache.tokens) >= _WORTH_KEEPING:
            store.put(key, self._identity, self.cache.tokens, self.cache.export())

    def close(self) -> None:
        """Free everything."""
        self._model.close()
        if self._speculation is not None:
            self._speculation.close()
        self.loaded.close()

    @property
    def _options(self) -> ContextOptions:
        return self.loaded.context_options(context_size=self.loaded.context_limit)

    @property
    def _identity(self) -> str:
        return self.weights.state_identity(self._options)
