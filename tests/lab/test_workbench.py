"""Measurements with a clock that only the model moves: each pass a known time a token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.toy import Toy, ToyModel, ToySampler, ToyTokenizer
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import EngineError
from nextok.generation.finish import FinishReason
from nextok.generation.model import Chunk, Logits
from nextok.generation.sampling import Sampling
from nextok.lab.bench_plan import Kind, Measure
from nextok.lab.workbench import Workbench

TOKEN, PIECE = 0.25, 0.0625
"""Seconds, exact in binary: of a token in a pass, and of putting one into words."""
EVERY = (
    Measure(Kind.PREFILL, 0, 16),
    Measure(Kind.DECODE, 16, 4),
    Measure(Kind.ANSWER, 8, 4),
    Measure(Kind.BARE, 8, 4),
)


class Clock:
    """Stands still until somebody takes his time."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class SlowModel(ToyModel):
    """Takes its time for every token, and remembers how many threads did."""

    def __init__(self, options: ContextOptions, abort: Abort, clock: Clock) -> None:
        super().__init__(options, abort)
        self.clock = clock
        self.passes: list[int] = []
        self.threads: list[int] = []

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        self.clock.now += TOKEN * sum(len(chunk.tokens) for chunk in batch)
        self.passes += [len(chunk.tokens) for chunk in batch]
        return super().extend(batch)

    def set_threads(self, threads: int) -> None:
        self.threads.append(threads)


class SlowTokenizer(ToyTokenizer):
    """Takes its time to say a token."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def piece(self, token: int) -> bytes:
        self._clock.now += PIECE
        return super().piece(token)


class Slow(Toy):
    """The toy over a clock; `sampler_type` draws."""

    def __init__(self, clock: Clock, sampler_type: type[ToySampler] = ToySampler) -> None:
        self.clock = clock
        self.tokenizer = SlowTokenizer(clock)
        self.models: list[SlowModel] = []
        self._sampler_type = sampler_type

    def open(self, options: ContextOptions, abort: Abort) -> SlowModel:
        self.models.append(SlowModel(options, abort, self.clock))
        return self.models[-1]

    def sampler(
        self, sampling: Sampling, *, context_size: int, history: Sequence[int]
    ) -> ToySampler:
        return self._sampler_type(temperature=1.0, top_p=1.0, seed=sampling.seed)


def workbench(weights: Slow, abort: Abort | None = None) -> Workbench:
    return Workbench(
        weights,
        ContextOptions(context_size=64, batch_size=8),
        Sampling(seed=1),
        abort or Abort(),
        clock=weights.clock,
        draw=Random(1),
    )


@pytest.fixture
def slow() -> Slow:
    return Slow(Clock())


def test_a_prefill_is_read_in_batches_into_an_empty_cache(slow: Slow) -> None:
    bench = workbench(slow)
    for _ in range(2):
        slow.models[0].passes.clear()
        timed = bench.take(Measure(Kind.PREFILL, 0, 20), 1)
        assert (timed.tokens, timed.seconds) == (20, 20 * TOKEN)
        assert timed.tokens_per_second == 1 / TOKEN
        assert slow.models[0].passes == [8, 8, 4]


def test_a_decode_does_not_count_how_its_depth_came_about(slow: Slow) -> None:
    bench = workbench(slow)
    assert bench.take(Measure(Kind.DECODE, 16, 4), 1).seconds == 4 * TOKEN
    assert slow.models[0].passes == [8, 8, 1, 1, 1, 1]


def test_what_a_prefill_has_left_is_not_read_again(slow: Slow) -> None:
    bench = workbench(slow)
    bench.take(Measure(Kind.PREFILL, 0, 16), 1)
    slow.models[0].passes.clear()
    for depth in (16, 16, 0):
        assert bench.take(Measure(Kind.DECODE, depth, 3), 1).tokens == 3
    assert slow.models[0].passes == [1] * 9


def test_an_answer_is_the_whole_loop_with_its_text(slow: Slow) -> None:
    timed = workbench(slow).take(Measure(Kind.ANSWER, 8, 5), 1)
    assert timed.ttft_seconds == 8 * TOKEN
    assert timed.gaps == (TOKEN,) * 4
    assert timed.tokens == 4 and timed.seconds == pytest.approx(4 * (TOKEN + PIECE))


def test_a_bare_loop_has_no_text(slow: Slow) -> None:
    bench = workbench(slow)
    bench.take(Measure(Kind.ANSWER, 8, 5), 1)
    slow.models[0].passes.clear()
    timed = bench.take(Measure(Kind.BARE, 8, 5), 1)
    assert (timed.tokens, timed.seconds) == (4, 4 * TOKEN)
    assert slow.models[0].passes == [1] * 5  # the prompt's last token gives the first logits


class Noting(ToySampler):
    """Writes down what it draws."""

    drawn: list[int] = []

    def sample(self, logits: Logits) -> int:
        token = super().sample(logits)
        self.drawn.append(token)
        return token


def test_both_loops_say_the_same() -> None:
    Noting.drawn.clear()
    bench = workbench(Slow(Clock(), Noting))
    bench.take(Measure(Kind.ANSWER, 8, 6), 1)
    bench.take(Measure(Kind.BARE, 8, 6), 1)
    assert Noting.drawn[:6] == Noting.drawn[6:] and len(Noting.drawn) == 12


def test_each_is_computed_with_its_own_threads(slow: Slow) -> None:
    bench = workbench(slow)
    bench.warm_up(2)
    for threads, measure in enumerate(EVERY, 3):
        bench.take(measure, threads)
    assert slow.models[0].threads == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_an_abort_ends_every_measurement(slow: Slow, measure: Measure) -> None:
    abort = Abort()
    bench = workbench(slow, abort)
    bench.warm_up(1)
    abort.trip(FinishReason.INTERRUPTED)
    with pytest.raises(Aborted):
        bench.take(measure, 1)


class Broken(ToySampler):
    """Draws nothing."""

    def sample(self, logits: Logits) -> int:
        raise EngineError("logits are NaN")


@pytest.mark.parametrize("measure", EVERY[2:], ids=str)
def test_a_failure_in_the_loop_is_raised(measure: Measure) -> None:
    with pytest.raises(EngineError, match="NaN"):
        workbench(Slow(Clock(), Broken)).take(measure, 1)


@pytest.fixture(params=["loop_gguf", "recurrent_gguf", "sliding_gguf"])
def engine(request: pytest.FixtureRequest) -> Iterator[LlamaWeights]:
    path: Path = request.getfixturevalue(request.param)
    weights = LlamaWeights.load(path, LoadOptions(), Abort())
    yield weights
    weights.close()


def counting() -> Callable[[], float]:
    """A clock of its own: a second a look."""
    seconds = iter(range(1_000_000))
    return lambda: float(next(seconds))


def test_the_engine_can_be_measured_whatever_its_memory(engine: LlamaWeights) -> None:
    options = ContextOptions(context_size=256, batch_size=8, ubatch_size=8)
    bench = Workbench(
        engine, options, Sampling(seed=1), Abort(), clock=counting(), draw=Random(1)
    )  # fmt: skip
    bench.warm_up(1)
    for measure in EVERY * 2:
        timed = bench.take(measure, 1)
        assert timed.seconds > 0 and timed.tokens in (3, 4, 16)
    bench.close()
