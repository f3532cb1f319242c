"""One generation on a loaded model, from the prompt to the last byte."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Protocol

from nextok.backends.weights import Chain, Weights
from nextok.cli.console import Console
from nextok.cli.delivery import Delivery
from nextok.cli.loaded import Loaded, warn_beyond_training
from nextok.cli.prompt import argument, written
from nextok.cli.prompting import PromptTokens
from nextok.cli.report import RunFacts
from nextok.cli.resolution import Resolved
from nextok.cli.settings import LogitBias
from nextok.cli.status import Status
from nextok.cli.thread_choice import adaptive, is_repeatable, may_adapt
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort
from nextok.generation.errors import UsageError
from nextok.generation.events import Event, Finish, Prefill
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, plain_steps
from nextok.generation.model import Model
from nextok.generation.reasoning import ReasoningSplitter
from nextok.generation.sampling import Sampling
from nextok.generation.stream import generate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nextok.backends.adaptive_threads import AdaptiveThreads
    from nextok.backends.prompt_reuse import PromptReuse
    from nextok.cli.speculation import Speculation

#: After these the process dies at once, and the kernel frees its memory; doing it before would
#: take as long again.
_DEADLY = (FinishReason.INTERRUPTED, FinishReason.DISCONNECTED)

#: Tokens. The engine rounds a context up to a multiple of this.
_STEP = 256

#: Tokens. Of a shorter prompt nothing is kept: it is read sooner than that is found.
_LEAST_KEPT = 256


class Asked(Protocol):
    """What is to be answered, once there is a model to say it to."""

    def tokens(
        self, weights: Weights, console: Console, *, limit: int | None = None
    ) -> PromptTokens:
        """The prompt. Raises TemplateError, ContextError."""


class OneShot:
    """Runs once; what came of it is in `delivery`."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        console: Console,
        status: Status,
        delivery: Delivery,
        abort: Abort,
        watcher: Watcher,
        started: float,
    ) -> None:
        """started: when the process did, in the clock's seconds."""
        self._loaded = loaded
        self._started = started
        self._console = console
        self._status = status
        self._delivery = delivery
        self._abort = abort
        self._watcher = watcher

    def run(self, prompt: Asked) -> None:
        """Deliver one answer. Raises NextokError and ReaderGone."""
        loaded = self._loaded
        tokens = prompt.tokens(loaded.weights, self._console, limit=loaded.context_limit)
        size = allocation(loaded, len(tokens.ids))
        model = loaded.weights.open(loaded.context_options(context_size=size), self._abort)
        paced = adaptive(model, loaded) if may_adapt(loaded.resolved) else None
        warn_beyond_training(
            loaded.engine.ctx_size, loaded.weights.trained_context, self._console
        )  # fmt: skip
        sampling = drawn(loaded.resolved, loaded.weights)
        sampler = loaded.weights.sampler(
            sampling, context_size=loaded.context_limit, history=tokens.ids
        )
        guesses = self._speculation(loaded, size, paced)
        known = facts(loaded, tokens, sampling)
        start_seconds = loaded.at - loaded.load_seconds - self._started
        known = known._replace(start_seconds=start_seconds)
        self._delivery.start(known, loaded.at, splitter(tokens))
        events = self._events(loaded, tokens, paced or model, sampler, guesses)
        for event in self._watcher.watched(paced.followed(events) if paced else events):
            self._show_progress(event)
            self._delivery.event(event)
        if self._abort.reason not in _DEADLY:
            sampler.close()
            model.close()
            if guesses is not None:
                guesses.close()
            if loaded.weights.can_offload:  # a GPU's driver asks for its memory back
                loaded.close()

    def _events(
        self,
        loaded: Loaded,
        tokens: PromptTokens,
        model: Model,
        sampler: Chain,
        guesses: Speculation | None,
    ) -> Generator[Event, None, None]:
        tokenizer, cache = loaded.weights.tokenizer, model.new_cache()
        reuse = self._reuse(loaded, tokens.ids, model.context_size)
        job = Job(
            model=reuse.model(model, cache) if reuse else model,
            cache=cache,
            sampler=sampler,
            prompt=tokens.ids,
            is_end=tokenizer.is_end,
            clock=time.monotonic,
            max_tokens=loaded.resolved.stops.max_tokens,
        )
        stops, repeatable = stop_strings(loaded.resolved), is_repeatable(loaded.resolved)
        loop = guesses.loop(repeatable=repeatable) if guesses else plain_steps
        events = generate(
            job, tokenizer.piece, stops=stops, abort=self._abort, origin=loaded.at, loop=loop
        )
        events = guesses.followed(events) if guesses else events
        return reuse.followed(events) if reuse else events

    def _speculation(
        self, loaded: Loaded, context_size: int, paced: AdaptiveThreads | None
    ) -> Speculation | None:
        """What guesses ahead; imported where something is to."""
        if not loaded.guesses:
            return None
        from nextok.cli.speculation import speculation

        return speculation(
            loaded,
            loaded.context_options(context_size=context_size),
            self._abort,
            self._console,
            threads=lambda: paced.threads if paced else loaded.threads,
        )

    def _reuse(
        self, loaded: Loaded, prompt: Sequence[int], context_size: int
    ) -> PromptReuse | None:
        """What takes up and keeps beginnings of prompts; imported where there is one to keep."""
        resolved = loaded.resolved
        if not _LEAST_KEPT < len(prompt) < context_size or resolved.stops.max_tokens == 0:
            return None
        if not resolved.keeps_prompts:
            return None
        from nextok.cli.prompt_reuse import prompt_reuse

        options = loaded.context_options(context_size=context_size)
        return prompt_reuse(
            loaded, options, prompt, console=self._console, least_tokens=_LEAST_KEPT
        )  # fmt: skip

    def _show_progress(self, event: Event) -> None:
        if isinstance(event, Prefill):
            self._status.show(f"reading the prompt: {event.done} of {event.total} tokens")
            return
        self._status.clear()
        if isinstance(event, Finish):
            self._watcher.came_back()


def stop_strings(resolved: Resolved) -> list[str]:
    """The texts to end before. Raises UsageError."""
    return [written(text, "--stop", resolved.prompt) for text in resolved.stops.stop]


def allocation(loaded: Loaded, prompt_tokens: int) -> int:
    """As much context as this run can need, and no more than it may have."""
    most = loaded.resolved.stops.max_tokens
    if most < 0:
        return loaded.context_limit
    needed = prompt_tokens + max(1, most)
    return min(loaded.context_limit, -(-needed // _STEP) * _STEP)


def drawn(resolved: Resolved, weights: Weights) -> Sampling:
    """The sampling settings with a seed and with token ids for biased texts."""
    sampling = resolved.sampling
    seed = sampling.seed if sampling.seed >= 0 else drawn_seed()
    biases = tuple(pair for bias in resolved.biases for pair in _token_biases(bias, weights))
    return sampling._replace(
        seed=seed, logit_bias=biases, ignore_eos=resolved.stops.ignore_eos
    )  # fmt: skip


def drawn_seed() -> int:
    """0 to 2**32 - 2. From the system: the module `random` takes 4 ms to import."""
    return int.from_bytes(os.urandom(8), "big") % (2**32 - 1)


def _token_biases(bias: LogitBias, weights: Weights) -> Iterator[tuple[int, float]]:
    tokenizer = weights.tokenizer
    if isinstance(bias.token, str):
        text = argument(bias.token, "--logit-bias")
        yield from ((token, bias.value) for token in tokenizer.encode(text, special=True))
    elif bias.token < len(tokenizer):
        yield bias.token, bias.value
    else:
        raise UsageError(
            f"--logit-bias {bias.token}: the vocabulary has ids from 0 to {len(tokenizer) - 1}"
        )


def facts(loaded: Loaded, tokens: PromptTokens, sampling: Sampling) -> RunFacts:
    """What is known before the first token."""
    return RunFacts(
        model=loaded.weights.name,
        prompt_tokens=len(tokens.ids),
        context_size=loaded.context_limit,
        threads=loaded.threads,
        sampling=sampling,
        exact=loaded.exact,
        load_seconds=loaded.load_seconds,
    )


def splitter(tokens: PromptTokens) -> ReasoningSplitter | None:
    """What tells reasoning from answer; raw text is taken as it is."""
    if tokens.raw:
        return None
    made = ReasoningSplitter(tokens.opened)
    made.feed(tokens.prefill)
    return made
