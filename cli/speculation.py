"""Guessing ahead for a loaded model, the same way for single answers and for chats.

Promises the tokens of a run without it. Knows where guesses come from and what they are taken to
cost; how they are verified is the loop's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from nextok.backends.draft_vocabulary import check_can_draft
from nextok.backends.options import ContextOptions
from nextok.generation.draft_length import DraftLength
from nextok.generation.events import Event, Finish
from nextok.generation.loop import Job, Steps
from nextok.generation.model_drafter import ModelDrafter
from nextok.generation.ngram_drafter import NgramDrafter
from nextok.generation.sampling import Sampling
from nextok.generation.speculation import Drafter, speculative_steps, unlimited
from nextok.generation.step_costs import AssumedCosts, MeasuredCosts

if TYPE_CHECKING:
    from nextok.backends.weights import Chain, Weights
    from nextok.cli.console import Console
    from nextok.cli.loaded import Loaded
    from nextok.generation.abort import Abort

_ROW, _ROW_OF_WIDE, _ROW_ON_GPU = 0.6, 0.45, 0.1
"""What another row of a pass is taken to cost where times may not decide, in plain steps. Weights
that were not quantised take longer to come from memory, and less to be computed with."""
_ROW_IF_ASKED = 0.35
"""The same for whoever has gone and found a draft model: the machine will be one that has cores to
spare for it."""
_WIDE = ("F32", "F16", "BF16")


class Source(Protocol):
    """What drafters come from, and what they hold memory in."""

    @property
    def hope(self) -> float:
        """The share of guesses that is taken to come true as long as none was seen."""

    @property
    def cost(self) -> float:
        """What a guess is taken to cost where times may not decide, in plain steps."""

    def drafter(self) -> Drafter:
        """Another one, for a text of its own."""

    def close(self) -> None:
        """Free it."""


class Lookup:
    """Guesses from the text itself: `--lookup`."""

    hope, cost = 0.5, 0.0

    def drafter(self) -> Drafter:
        return NgramDrafter()

    def close(self) -> None:
        """Nothing is held."""


class DraftModel:
    """Guesses of a smaller model: `--draft`."""

    hope = 0.8

    def __init__(
        self,
        weights: Weights,
        options: ContextOptions,
        abort: Abort,
        *,
        cost: float,
        threads: Callable[[], int],
    ) -> None:
        """threads: how many to take now. EngineError when there is no context to be had."""
        self.cost = cost
        most = weights.trained_context or options.context_size
        if options.sequences == 1:
            options = options._replace(context_size=min(options.context_size, most))
        self._context = weights.open(options, abort)
        self._size = options.context_size
        self._weights = weights
        self._threads = threads
        self._samplers: list[Chain] = []

    def drafter(self) -> Drafter:
        greedy = Sampling(seed=0, temperature=0.0)
        sampler = self._weights.sampler(greedy, context_size=self._size, history=())
        self._samplers.append(sampler)
        drafter = ModelDrafter(self._context, self._context.new_cache(), sampler)
        return _Paced(drafter, lambda: self._context.set_threads(self._threads()))

    def close(self) -> None:
        for sampler in self._samplers:
            sampler.close()
        self._context.close()


class _Paced:
    """A drafter whose threads are set before it computes."""

    def __init__(self, drafter: Drafter, prepare: Callable[[], None]) -> None:
        self._drafter = drafter
        self._prepare = prepare

    def reset(self, prompt: Sequence[int]) -> None:
        self._prepare()
        self._drafter.reset(prompt)

    def propose(self, history: Sequence[int], limit: int) -> Sequence[int]:
        self._prepare()
        return self._drafter.propose(history, limit)


class Speculation:
    """For one generation after another over one context."""

    def __init__(self, source: Source, *, row_cost: float, exact: bool) -> None:
        """row_cost: of another row in a pass, where times may not decide, in plain steps. exact:
        whether a token comes out the same however many rows its pass has.
        """
        self._source = source
        self._drafter = source.drafter()
        self._exact = exact
        self._measured = MeasuredCosts()
        self._assumed = AssumedCosts(drafting=source.cost, row=row_cost)
        self._length = DraftLength(self._assumed)
        """That of the generation that goes on."""

    def loop(
        self, *, repeatable: bool, room: Callable[[], int] = unlimited
    ) -> Callable[[Job], Steps]:
        """For one generation. repeatable: whether the same tokens are expected of every run.

        Where a pass over several rows gives other last bits than one over a single row, they would
        depend on how long passes happened to take: then the text alone decides how far is guessed.
        """
        costs = self._assumed if repeatable and not self._exact else self._measured
        self._length = DraftLength(costs, hope=self._source.hope)
        return lambda job: speculative_steps(job, self._drafter, self._length, room=room)

    def followed(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """The same events; the last one says what guessing came to."""
        with closing(events):
            for event in events:
                if isinstance(event, Finish):
                    event = event._replace(speculation=self._length.figures)
                yield event

    def close(self) -> None:
        """Free what the guesses came from."""
        self._source.close()


def speculation(
    loaded: Loaded,
    options: ContextOptions,
    abort: Abort,
    console: Console,
    *,
    threads: Callable[[], int],
) -> Speculation | None:
    """What guesses for this model, in contexts of such options; None where nothing can.

    threads: how many the model's own context takes now. Raises ModelError for a draft model that
    does not fit, EngineError.
    """
    source = guess_source(loaded, options, abort, console, threads=threads)
    if source is None:
        return None
    return Speculation(source, row_cost=row_cost(loaded), exact=loaded.rows_are_exact)


def guess_source(
    loaded: Loaded,
    options: ContextOptions,
    abort: Abort,
    console: Console,
    *,
    threads: Callable[[], int],
) -> Source | None:
    """The same for whoever has loops of its own."""
    if not loaded.weights.memory_can_be_cut:
        console.note(
            "one token a step: the memory of this model is a state, from which guesses "
            "cannot be taken back"
        )
        return None
    if loaded.draft is None:
        return Lookup()
    check_can_draft(loaded.draft, loaded.weights)
    cost = loaded.draft.weight_bytes / loaded.weights.weight_bytes
    return DraftModel(loaded.draft, options, abort, cost=cost, threads=threads)


def row_cost(loaded: Loaded) -> float:
    """What another row of a pass is taken to cost where times may not decide, in plain steps."""
    if loaded.offloads:
        return _ROW_ON_GPU
    if loaded.draft is not None:
        return _ROW_IF_ASKED
    return _ROW_OF_WIDE if loaded.weights.quantization in _WIDE else _ROW
