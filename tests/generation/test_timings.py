"""Time for N tokens = TTFT + (N-1) x ITL, by a clock of our own; and where the rest of it goes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import END, Toy, ToyModel
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError
from nextok.generation.events import Event, Finish, Prefill, Step, Token
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps
from nextok.generation.model import Cache, Logits
from nextok.generation.stream import generate
from nextok.generation.timings import Latency, Stopwatch, Timings, percentile

PREFILL, SAMPLE, DECODE = 1.0, 0.125, 0.5
"""Seconds that a batch of the prompt, a draw and a decode take here."""


class Clock:
    """Stands still until somebody takes time."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class SlowModel(ToyModel):
    """A toy that takes time."""

    def __init__(self, options: ContextOptions, abort: Abort, clock: Clock) -> None:
        super().__init__(options, abort)
        self._clock = clock

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Sequence[float]:
        self._clock.now += PREFILL
        return super().prefill(tokens, cache)

    def decode(self, token: int, cache: Cache) -> Sequence[float]:
        self._clock.now += DECODE
        return super().prefill([token], cache)


class SlowSampler:
    """Says what it is told to, in time."""

    def __init__(self, said: bytes, clock: Clock) -> None:
        self._said = itertools.chain(said, itertools.repeat(END))
        self._clock = clock

    def sample(self, logits: Logits) -> int:
        self._clock.now += SAMPLE
        token = next(self._said)
        if token == ord("!"):
            raise EngineError("NaN")
        return token

    def accept(self, token: int) -> None: ...

    def reset(self) -> None: ...


class Run:
    """One generation: the model was loaded at 10, and 3 seconds went by until it was asked."""

    def __init__(self, said: bytes, *, max_tokens: int = -1, batch: int = 4) -> None:
        self.clock = Clock(13.0)
        self.abort = Abort()
        toy = Toy()
        model = SlowModel(
            ContextOptions(context_size=512, batch_size=batch), self.abort, self.clock
        )
        self.job = Job(
            model=model,
            cache=model.new_cache(),
            sampler=SlowSampler(said, self.clock),
            prompt=toy.tokenizer.encode("The prompt"),  # ten tokens, three batches of four
            is_end=toy.tokenizer.is_end,
            clock=self.clock,
            max_tokens=max_tokens,
        )
        self._piece = toy.tokenizer.piece
        self.gaps: list[float] = []

    def events(self, *stops: str) -> Iterator[Event]:
        return generate(self.job, self._piece, stops=stops, abort=self.abort, origin=10.0)

    def timings(self, *stops: str, reading: float = 0.0, showing: float = 0.0) -> Timings:
        """reading, showing: seconds that the consumer takes over a prefill event, over a token."""
        for event in self.events(*stops):
            if isinstance(event, Finish):
                return event.timings
            self.clock.now += reading if isinstance(event, Prefill) else showing
            if isinstance(event, Token) and event.index:
                self.gaps.append(event.gap)
        raise AssertionError("no end")


def parts(timings: Timings, gaps: Sequence[float]) -> float:
    return (
        timings.queue_seconds
        + timings.prefill_seconds
        + timings.first_sample_seconds
        + sum(gaps)
        + timings.ending_seconds
        + timings.rendering_seconds
    )


@pytest.mark.parametrize(("reading", "showing"), [(0.0, 0.0), (0.25, 2.0)])
def test_every_second_is_somebodys(reading: float, showing: float) -> None:
    run = Run(b"hello")
    timings = run.timings(reading=reading, showing=showing)
    assert timings.queue_seconds == 3
    assert timings.prefill_seconds == 3 * PREFILL
    assert timings.first_sample_seconds == SAMPLE
    assert run.gaps == [DECODE + SAMPLE] * 4
    assert timings.ending_seconds == DECODE + SAMPLE  # it found the end
    assert timings.rendering_seconds == 4 * reading + 5 * showing
    assert timings.ttft_seconds == 3 + 3 * PREFILL + 4 * reading + SAMPLE
    assert timings.decode_tokens_per_second == 1 / (DECODE + SAMPLE + showing)
    assert timings.total_seconds == parts(timings, run.gaps) == run.clock.now - 10


def test_the_distribution_is_the_engines_whoever_reads() -> None:
    slowly, quickly = (Run(b"hello").timings(showing=showing) for showing in (7.0, 0.0))
    assert slowly.latency == quickly.latency
    assert quickly.latency is not None and quickly.latency.max == DECODE + SAMPLE


def test_nothing_comes_after_the_last_token_allowed() -> None:
    run = Run(b"hello", max_tokens=3)
    timings = run.timings(showing=0.5)
    assert (timings.ending_seconds, timings.rendering_seconds) == (0, 1.5)
    assert timings.total_seconds == parts(timings, run.gaps)


def test_one_token_has_no_gap() -> None:
    timings = Run(b"hello", max_tokens=1).timings(showing=0.5)
    assert (timings.latency, timings.decode_tokens_per_second) == (None, None)
    assert timings.ttft_seconds == 3 + 3 * PREFILL + SAMPLE
    assert timings.total_seconds == parts(timings, []) == 3 + 3 * PREFILL + SAMPLE + 0.5
    timings = Run(b"h").timings(showing=0.5)
    assert timings.ending_seconds == DECODE + SAMPLE
    assert timings.total_seconds == parts(timings, [])


def test_no_token_has_no_first() -> None:
    timings = Run(b"").timings(reading=0.25)
    assert (timings.ttft_seconds, timings.latency) == (None, None)
    assert timings.first_sample_seconds == SAMPLE  # of the end
    assert timings.total_seconds == parts(timings, []) == 3 + 3 * PREFILL + SAMPLE + 4 * 0.25


def test_nothing_asked_for_is_waiting_alone() -> None:
    timings = Run(b"hello", max_tokens=0).timings()
    assert timings.queue_seconds == timings.total_seconds == 3
    assert timings.prefill_seconds == 0


def test_a_prefill_that_is_cut_has_lasted_until_then() -> None:
    run = Run(b"hello")
    for event in run.events():
        if isinstance(event, Prefill) and event.done == 4:
            run.clock.now += 0.25
            run.abort.trip(FinishReason.INTERRUPTED)
    assert isinstance(event, Finish)
    timings = event.timings
    assert (timings.prefill_seconds, timings.rendering_seconds) == (2 * PREFILL, 0.25)
    assert timings.total_seconds == parts(timings, [])


def test_what_an_engine_took_to_fail_counts_too() -> None:
    run = Run(b"he!")
    timings = run.timings(showing=0.5)
    assert timings.ending_seconds == DECODE + SAMPLE
    assert timings.total_seconds == parts(timings, run.gaps)


def test_text_that_is_held_back_takes_nobodys_time() -> None:
    run = Run(b"a<>b")
    timings = run.timings("<>", showing=0.5)
    assert run.gaps == [DECODE + SAMPLE] * 2
    assert timings.total_seconds == parts(timings, run.gaps)


def test_what_is_cached_is_no_prefill() -> None:
    run = Run(b"hello")
    run.timings()
    run.gaps.clear()
    run.clock.now = 13.0
    assert run.timings().prefill_seconds == PREFILL  # the last token alone


def test_tokens_of_one_step_share_what_it_took() -> None:
    """Three steps: one token at 14, three at 17, two at 20; each is shown for half a second."""
    run = Run(b"")

    def steps(job: Job) -> Steps:
        yield Prefill(0, 1, 0)
        yield Prefill(1, 1, 0)
        for at, shares, gap in ((14.0, 1, 1.0), (17.0, 3, 1.0), (20.0, 2, 1.5)):
            run.clock.now = at
            for index in range(shares):
                yield Step(ord("x"), at, gap, drafted=index > 0)
        return FinishReason.LENGTH

    run.clock.now = 13.0
    stream = generate(run.job, run._piece, abort=run.abort, origin=10.0, loop=steps)
    for event in stream:
        if isinstance(event, Token) and event.index:
            run.gaps.append(event.gap)
        run.clock.now += 0.5 if isinstance(event, Token) else 0
    assert isinstance(event, Finish)
    assert run.gaps == pytest.approx([2.5 / 3] * 3 + [1.5 / 2] * 2)
    assert event.timings.rendering_seconds == 6 * 0.5
    assert event.timings.total_seconds == pytest.approx(parts(event.timings, run.gaps)) == 11


def test_rates_and_percentiles_come_from_the_tokens_alone() -> None:
    watch = Stopwatch(origin=10.0)
    for at, gap in [(12.5, 0.0), (12.6, 0.1), (12.9, 0.3), (13.1, 0.2)]:
        watch.token(at, gap)
    timings = watch.timings(now=13.5)
    assert timings.decode_tokens_per_second == pytest.approx(3 / 0.6)
    assert timings.latency == Latency(
        mean=pytest.approx(0.2), p50=0.2, p95=pytest.approx(0.29), p99=pytest.approx(0.298), max=0.3
    )


def test_a_clock_that_stands_still_gives_no_rate() -> None:
    watch = Stopwatch(origin=0.0)
    for _ in range(3):
        watch.rendered(0.0)
        assert watch.token(1.0, 0.0) == 0
    assert watch.timings(now=1.0).decode_tokens_per_second is None


def test_percentiles_interpolate() -> None:
    assert percentile([1, 2, 3, 4], 50) == 2.5
    assert percentile([7], 99) == 7
