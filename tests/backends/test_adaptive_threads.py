"""A context with a changing thread count: the same tokens, and every change is told."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence

import pytest

from nextok.backends.adaptive_threads import AdaptiveThreads
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.toy import Toy, ToyModel
from nextok.backends.weights import Weights
from nextok.generation.abort import Abort, Aborted
from nextok.generation.events import Event, Finish, Prefill, Threads, Token
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job
from nextok.generation.model import Cache, Chunk, Model
from nextok.generation.sampling import Sampling
from nextok.generation.stream import generate
from nextok.generation.thread_policy import ThreadPolicy

PROMPT = "The answer is not: each token waits."


class Timed(ToyModel):
    """Takes the seconds it is told to, and remembers with how many threads it computed."""

    def __init__(self, options: ContextOptions, abort: Abort) -> None:
        super().__init__(options, abort)
        self.now = 0.0
        self.seconds: Callable[[int, int], float] = lambda passes, threads: 0.012
        self.threads = options.threads
        self.sets = 0
        self.used: list[int] = []

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        rows = super().extend(batch)
        self.now += self.seconds(len(self.used), self.threads)
        self.used.append(self.threads)
        return rows

    def set_threads(self, threads: int) -> None:
        self.threads = threads
        self.sets += 1


@pytest.fixture
def timed() -> Timed:
    return Timed(ContextOptions(context_size=512, threads=2, batch_size=16), Abort())


def adaptive(
    timed: Timed, look: Callable[[], float | None] = lambda: None
) -> AdaptiveThreads:  # fmt: skip
    return AdaptiveThreads(timed, ThreadPolicy(2, look), lambda: timed.now)


def generation(
    model: Model, cache: Cache, weights: Weights, count: int, prompt: str = PROMPT
) -> list[Event]:
    """All events; a seed, so that they are the same each time."""
    sampling = Sampling(seed=3, temperature=1.5)
    tokens = weights.tokenizer.encode(prompt)
    job = Job(
        model=model,
        cache=cache,
        sampler=weights.sampler(sampling, context_size=512, history=tokens),
        prompt=tokens,
        is_end=lambda token: False,
        clock=lambda: 0.0,
        max_tokens=count,
    )
    events = generate(job, weights.tokenizer.piece, abort=Abort(), origin=0.0)
    return list(model.followed(events) if isinstance(model, AdaptiveThreads) else events)


def changes(events: Sequence[Event]) -> list[Threads]:
    return [event for event in events if isinstance(event, Threads)]


def test_a_neighbour_is_told_as_it_comes_and_goes(timed: Timed) -> None:
    """36 tokens of prompt are 3 passes; the neighbour is there from the 30th decode on."""
    free = [2.0]

    def seconds(passes: int, threads: int) -> float:
        free[0] = 1.0 if 33 <= passes < 100 else 2.0
        return 2.0 if threads == 2 and free[0] == 1.0 else 0.024 / threads

    timed.seconds = seconds
    toy = Toy().open(ContextOptions(context_size=512, batch_size=16), Abort())
    plain = generation(toy, toy.new_cache(), Toy(), 200)
    model = adaptive(timed, lambda: free[0])
    events = generation(model, model.new_cache(), Toy(), 200)
    assert [event for event in events if not isinstance(event, Threads)] == plain
    lowered, raised = changes(events)
    assert (lowered.threads, raised.threads) == (1, 2)
    assert timed.used[:35] == [2] * 34 + [1]
    for change in (lowered, raised):
        # Token 0 comes from the third pass, and each other one from a pass of its own.
        before, after = timed.used[change.index + 1 : change.index + 3]
        assert (before, after) == (3 - change.threads, change.threads)
        first = events[events.index(change) + 1]  # it is told right before the token it is about
        assert isinstance(first, Token)
        assert first.index == change.index


def test_neighbours_at_the_start_are_given_way_to_from_the_first_pass_on(timed: Timed) -> None:
    model = adaptive(timed, lambda: 1.0)
    events = generation(model, model.new_cache(), Toy(), 10)
    assert timed.used == [1] * 12
    assert changes(events) == [Threads(0, 1)]
    assert isinstance(events[0], Prefill) and isinstance(events[-1], Finish)


def test_every_generation_begins_with_what_the_cpus_have_then(timed: Timed) -> None:
    free = [1.0]
    model = adaptive(timed, lambda: free[0])
    generation(model, model.new_cache(), Toy(), 5)
    free[0] = 2.0
    timed.used.clear()
    assert changes(generation(model, model.new_cache(), Toy(), 5)) == []
    assert set(timed.used) == {2}
    free[0] = 1.0
    assert changes(generation(model, model.new_cache(), Toy(), 5)) == [Threads(0, 1)]
    # What is told is the difference to what the context was opened with, not to the last one.
    assert changes(generation(model, model.new_cache(), Toy(), 5)) == [Threads(0, 1)]


def test_frozen_has_all_threads_whatever_happens(timed: Timed) -> None:
    model = adaptive(timed, lambda: 1.0)
    cache = model.new_cache()
    generation(model, cache, Toy(), 5)
    timed.used.clear()
    frozen = model.frozen()
    timed.seconds = lambda passes, threads: 3.0 if passes > 20 else 0.01
    assert changes(generation(frozen, cache, Toy(), 100)) == []
    assert set(timed.used) == {2}
    generation(model, cache, Toy(), 5)
    assert timed.used[-1] == 1


def test_nothing_is_set_that_is_so_already(timed: Timed) -> None:
    model = adaptive(timed, lambda: 2.0)
    generation(model, model.new_cache(), Toy(), 100)
    model.frozen()
    assert timed.sets == 0


def test_the_rest_is_the_context_itself(timed: Timed) -> None:
    model = adaptive(timed)
    assert (model.context_size, model.batch_size) == (512, 16)
    one, two = model.new_cache(), model.new_cache()
    expected = timed.prefill([1, 2, 3], timed.new_cache())
    assert model.prefill([1, 2, 3], one) == expected
    rows = model.extend([Chunk(one, [4, 5], rows=2), Chunk(two, [5])])
    assert len(rows) == 3
    assert (list(one.tokens), list(two.tokens)) == ([1, 2, 3, 4, 5], [5])


def test_closing_the_events_cancels_the_generation(timed: Timed) -> None:
    model = adaptive(timed)
    closed = []

    def events() -> object:
        try:
            while True:
                yield Prefill(0, 1, 0)
        finally:
            closed.append(True)

    followed = model.followed(events())  # type: ignore[arg-type]
    next(followed)
    followed.close()
    assert closed == [True]


def test_a_pass_that_was_aborted_is_no_measure(timed: Timed) -> None:
    abort = Abort()
    context = Timed(ContextOptions(context_size=512, threads=2), abort)
    model = adaptive(context)
    cache = model.new_cache()
    for token in range(20):
        model.decode(token, cache)
    context.seconds = lambda passes, threads: 5.0
    abort.trip(FinishReason.INTERRUPTED)
    for _ in range(5):
        with pytest.raises(Aborted):
            model.decode(1, cache)
    abort.rearm()
    context.seconds = lambda passes, threads: 0.012
    model.decode(1, cache)
    assert context.threads == 2


@pytest.mark.parametrize("name", ["sliding_gguf", "recurrent_gguf"])
def test_the_engine_says_the_same_with_a_count_that_changes_all_the_time(
    request: pytest.FixtureRequest, name: str
) -> None:
    class Restless(ThreadPolicy):
        def passed(self, rows: int, seconds: float) -> None:
            self.threads = 3 - self.threads

    weights = LlamaWeights.load(request.getfixturevalue(name), LoadOptions(), Abort())

    def said(restless: bool) -> list[int]:
        options = ContextOptions(
            context_size=512, threads=2 if restless else 1, batch_size=8, ubatch_size=8
        )
        context = weights.open(options, Abort())
        model = AdaptiveThreads(context, Restless(2, lambda: None)) if restless else context
        events = generation(model, model.new_cache(), weights, 12)
        assert len(changes(events)) >= (12 if restless else 0)
        context.close()
        return [event.id for event in events if isinstance(event, Token)]

    expected = said(False)
    assert said(True) == expected
    assert len(set(expected)) > 3
    weights.close()


def test_a_token_costs_a_few_calls_more(timed: Timed) -> None:
    counter = itertools.count()

    def count(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            next(counter)

    def calls(model: Model, token: int, cache: Cache) -> int:
        before = next(counter)
        sys.setprofile(count)
        try:
            model.decode(token, cache)
        finally:
            sys.setprofile(None)
        return next(counter) - before

    model = adaptive(timed, lambda: 2.0)
    plain, wrapped = timed.new_cache(), model.new_cache()
    more = [
        calls(model, token, wrapped) - calls(timed, token, plain)
        for token in list(b"The answer is not: each token waits") * 3
    ]
    assert sorted(more)[len(more) // 2] < 20
