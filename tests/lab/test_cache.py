"""With the KV cache and without: on a model whose every token takes a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import Toy, ToyModel
from nextok.generation.abort import Abort
from nextok.generation.errors import ContextError
from nextok.generation.events import Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, plain_steps
from nextok.generation.model import Chunk
from nextok.generation.sampling import Sampling
from nextok.lab.cache import CacheOptions, run, work
from nextok.lab.cache_comparison import Timed
from nextok.lab.estimate import Speed, Work, measure
from nextok.lab.progress import Silence
from nextok.lab.recomputing import recomputing_steps
from nextok.lab.subject import Subject

PROMPT = "It is"  # the toy's template adds a newline: 6 tokens, BOS before them
PROMPT_TOKENS = 7
SubjectOf = Callable[[Path | None], Subject]


class Clock:
    """Seconds that pass when the model computes."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class SlowModel(ToyModel):
    """The toy; each token it reads takes a second, and the flag goes up at a moment."""

    def __init__(self, options: ContextOptions, abort: Abort, clock: Clock, ends_at: float) -> None:
        super().__init__(options, abort)
        self._flag, self._clock, self._ends_at = abort, clock, ends_at

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        rows = super().extend(batch)
        self._clock.now += sum(len(chunk.tokens) for chunk in batch)
        if self._clock.now >= self._ends_at:
            self._flag.trip(FinishReason.INTERRUPTED)
        return rows


class SlowToy(Toy):
    def __init__(self, clock: Clock, ends_at: float) -> None:
        super().__init__()
        self._clock, self._ends_at = clock, ends_at

    def open(self, options: ContextOptions, abort: Abort) -> SlowModel:
        return SlowModel(options, abort, self._clock, self._ends_at)


def slow_subject(ends_at: float = 1e9) -> Subject:
    clock = Clock()
    return Subject(
        weights=SlowToy(clock, ends_at),
        path=None,
        options=ContextOptions(context_size=256),
        sampling=Sampling(seed=1),
        context_limit=4096,
        abort=Abort(),
        clock=clock,
        exact=True,
    )


def test_each_token_costs_one_with_the_cache_and_the_whole_text_without() -> None:
    found = run(slow_subject(), CacheOptions(prompt=PROMPT, tokens=20), Silence())
    times = found.data["times"]
    assert isinstance(times, dict)
    assert found.data["prompt_tokens"] == PROMPT_TOKENS
    first = 1000.0 * PROMPT_TOKENS
    assert times["cache"]["latency_ms"] == [first] + 19 * [1000.0]
    assert times["recomputing"]["latency_ms"] == [first + 1000.0 * n for n in range(20)]
    assert (times["cache"]["fit_ms"], times["cache"]["fit_ms_per_token"]) == (1000.0, 0.0)
    assert times["recomputing"]["fit_ms"] == first
    assert times["recomputing"]["fit_ms_per_token"] == 1000.0
    assert times["cache"]["total_s"] == PROMPT_TOKENS + 19
    assert times["recomputing"]["total_s"] == 20 * PROMPT_TOKENS + 190


def test_twice_the_length_takes_twice_as_long_or_almost_four_times() -> None:
    found = run(slow_subject(), CacheOptions(prompt=PROMPT, tokens=200), Silence())
    times = found.data["times"]
    assert isinstance(times, dict)
    assert times["cache"]["doubling"] == pytest.approx(2.0)
    assert times["recomputing"]["doubling"] == pytest.approx((7 + 100) * 200 / ((7 + 50) * 100))
    assert "O(N) against O(N²)" in found.sentences[1]


def test_a_readers_patience_is_counted_where_it_ends_and_else_read_off_the_line() -> None:
    options = CacheOptions(prompt=PROMPT, tokens=20, patience_seconds=30.0)
    found = run(slow_subject(), options, Silence())
    times = found.data["times"]
    assert isinstance(times, dict)
    assert times["recomputing"]["tokens_in_patience"] == 3  # after 7, 7+8 and 7+8+9 seconds
    assert times["cache"]["tokens_in_patience"] == 1 + 23  # the prompt's 7, then one a second
    assert "about 24 tokens (by the line) with it and 3 tokens without" in found.sentences[2]
    (mark,) = found.charts[1].marks
    assert mark == (3.0, "30 s: 3 tokens")


def test_noise_that_falls_is_taken_for_flat() -> None:
    timed = Timed(tokens=range(5), seconds=[3.0, 1.2, 1.1, 1.0, 0.9])
    assert timed.line is not None and timed.line.slope == pytest.approx(-0.1)
    assert timed.read_in(43.0) == pytest.approx(1 + 40 / 1.05)


def test_the_outputs_are_compared() -> None:
    found = run(slow_subject(), CacheOptions(prompt=PROMPT, tokens=20), Silence())
    assert (found.data["same_output"], found.data["first_difference"]) == (True, None)
    assert found.sentences[2].endswith("the greedy outputs are the same, token for token.")
    assert len(found.sentences) == 3 and found.complete


@pytest.mark.parametrize("tokens", [1, 2, 3])
def test_few_tokens_have_three_sentences_all_the_same(tokens: int) -> None:
    found = run(slow_subject(), CacheOptions(prompt=PROMPT, tokens=tokens), Silence())
    took, growth, same = found.sentences
    again = sum(PROMPT_TOKENS + place for place in range(tokens))
    counted = "1 token" if tokens == 1 else f"{tokens} tokens"
    assert took == (
        f"{counted} took {PROMPT_TOKENS + tokens - 1}.00 s with the KV cache and "
        f"{again:.{1 if again >= 10 else 2}f} s without it."
    )
    assert "can be told from 4 tokens on" in growth
    assert same == "The greedy outputs are the same, token for token."


def test_four_tokens_are_enough_for_the_growth() -> None:
    found = run(slow_subject(), CacheOptions(prompt=PROMPT, tokens=4), Silence())
    assert "1,000 ms more with every token" in found.sentences[0]


def test_an_end_that_comes_at_once_is_told() -> None:
    found = run(slow_subject(100 + PROMPT_TOKENS), CacheOptions(prompt=PROMPT), Silence())
    (sentence,) = found.sentences
    assert sentence.startswith("It was cut short after ") and not found.complete


def test_what_was_done_when_the_end_came_is_told() -> None:
    ends_at = 100 + PROMPT_TOKENS + 19 + 7 + 8 + 9  # within the second generation
    found = run(slow_subject(ends_at), CacheOptions(prompt=PROMPT, tokens=20), Silence())
    assert not found.complete
    assert found.data["tokens"] == 3 and found.data["same_output"] is False
    assert found.data["first_difference"] is None
    (sentence,) = found.sentences
    assert sentence.endswith("it was cut short before as much was known without it.")
    assert [chart.name for chart in found.charts] == ["latency", "total"]


def test_a_prompt_and_an_answer_that_do_not_fit_are_refused() -> None:
    subject = replace(slow_subject(), context_limit=64)
    with pytest.raises(ContextError, match="--ctx-size"):
        run(subject, CacheOptions(prompt=PROMPT, tokens=300), Silence())


def test_the_work_is_what_the_two_generations_read() -> None:
    assert work(7, CacheOptions(tokens=20)) == Work(
        prefill_tokens=7 + 20 * 7 + 190, decode_tokens=20, context_tokens=7 + 20
    )


def test_a_short_run_tells_how_long_the_work_takes() -> None:
    speed = measure(slow_subject())
    assert speed == Speed(prefill_tokens_per_second=1.0, decode_tokens_per_second=1.0)
    assert speed.seconds(Work(prefill_tokens=30, decode_tokens=12)) == 42.0
    twice = Work(prefill_tokens=1, decode_tokens=2).times(2) + Work(decode_tokens=1)
    assert twice == Work(prefill_tokens=2, decode_tokens=5)


@pytest.mark.parametrize("tokens", [1, 7, 40])
def test_without_the_cache_the_same_steps_come(
    subject_of: SubjectOf, loop_gguf: Path, tokens: int
) -> None:
    subject = subject_of(loop_gguf)
    prompt = subject.prompt_tokens("go")
    with subject.open(len(prompt) + tokens) as model:
        texts = []
        for loop in (plain_steps, recomputing_steps):
            cache = model.new_cache()
            sampler = subject.sampler(prompt)
            job = Job(
                model=model, cache=cache, sampler=sampler, prompt=prompt,
                is_end=subject.tokenizer.is_end, clock=subject.clock, max_tokens=tokens,
            )  # fmt: skip
            texts.append([event.id for event in loop(job) if isinstance(event, Step)])
            cache.close()
            sampler.close()
    assert texts[0] == texts[1] and len(texts[0]) == tokens
    assert subject.text(texts[0][:2]) == "la li "[: 3 * min(2, tokens)]


def test_without_the_cache_the_end_is_the_same(subject_of: SubjectOf, space_gguf: Path) -> None:
    subject = subject_of(space_gguf)
    prompt = subject.prompt_tokens("go")
    reasons = []
    with subject.open(len(prompt) + 60) as model:
        for most in (-1, 2):
            cache, sampler = model.new_cache(), subject.sampler(prompt)
            steps = recomputing_steps(
                Job(
                    model=model, cache=cache, sampler=sampler, prompt=prompt,
                    is_end=subject.tokenizer.is_end, clock=subject.clock, max_tokens=most,
                )
            )  # fmt: skip
            try:
                while True:
                    next(steps)
            except StopIteration as end:
                reasons.append(end.value)
            cache.close()
            sampler.close()
    assert reasons == [FinishReason.EOS, FinishReason.LENGTH]
