"""A context that slides: the plain loop runs on, and the cache stays within the real context."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.toy import Toy, ToyCache, ToyModel
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError
from nextok.generation.events import Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps, shared_prefix
from nextok.generation.model import Cache, Chunk, Model
from nextok.generation.nucleus import NucleusSampler
from nextok.generation.sliding import SINKS, Sliding, slid, slide_to

PROMPT = "The answer is not: "


class Fixed(ToyCache):
    """A memory that cannot shift and, like a recurrent one, not be cut in the middle."""

    def trim(self, length: int) -> int:
        return super().trim(length if length >= len(self.tokens) else 0)

    def shift(self, keep: int, discard: int) -> bool:
        return False


class Strict(ToyModel):
    """Refuses what an engine refuses, and remembers what was read."""

    def __init__(self, *, context: int, batch: int = 16) -> None:
        super().__init__(ContextOptions(context_size=context, batch_size=batch), Abort())
        self.passes: list[int] = []
        self.most = 0

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        for chunk in batch:
            size = len(chunk.cache.tokens) + len(chunk.tokens)
            if size > self.context_size or not 1 <= len(chunk.tokens) <= self.batch_size:
                raise EngineError("no room")
            self.passes.append(len(chunk.tokens))
            self.most = max(self.most, size)
        return super().extend(batch)


def job(
    model: Model, cache: Cache, prompt: Sequence[int], *, count: int, temperature: float = 1.5
) -> Job:
    return Job(
        model=model,
        cache=cache,
        sampler=NucleusSampler(temperature=temperature, top_p=0.95, seed=3),
        prompt=prompt,
        is_end=lambda token: False,
        clock=lambda: 0.0,
        max_tokens=count,
    )


def run(steps: Steps) -> tuple[list[int], FinishReason]:
    tokens: list[int] = []
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return tokens, end.value
        if isinstance(step, Step):
            tokens.append(step.id)


@pytest.mark.parametrize("keep", [0, 7, 19, 1000])
def test_the_plain_loop_runs_past_the_end_of_the_context(keep: int) -> None:
    """The toy looks at four tokens only: what it says does not depend on what was forgotten."""
    prompt = Toy().tokenizer.encode(PROMPT)
    large, small = Strict(context=4096), Strict(context=40)
    expected = run(plain_steps(job(large, large.new_cache(), prompt, count=500)))
    model = Sliding(small, keep=keep)
    cache = model.new_cache()
    tokens, reason = run(plain_steps(job(model, cache, prompt, count=500)))
    assert (tokens, reason) == expected == (tokens, FinishReason.LENGTH)
    assert small.most == 40
    assert small.passes == [16, 3, *[1] * 499]
    kept = max(SINKS, min(keep, 30))
    whole = [*prompt, *tokens]
    assert list(cache.tokens)[:kept] == whole[:kept]
    assert list(cache.tokens)[kept:] == whole[len(whole) - 1 - (len(cache.tokens) - kept) : -1]


def test_the_engine_runs_past_the_end_of_its_context(loop_gguf: Path) -> None:
    """It says "la li la li", whatever came before."""
    abort = Abort()
    weights = LlamaWeights.load(loop_gguf, LoadOptions(), abort)
    model = weights.open(ContextOptions(context_size=256), abort)
    cache = model.new_cache()
    prompt = weights.tokenizer.encode("<s>sing<|go|>", special=True)
    tokens, reason = run(
        plain_steps(job(Sliding(model, keep=8), cache, prompt, count=700, temperature=0))
    )
    assert reason is FinishReason.LENGTH
    assert b"".join(map(weights.tokenizer.piece, tokens)) == b"la li " * 350
    assert list(cache.tokens[: len(prompt)]) == prompt
    assert len(cache.tokens) <= 256
    model.close()
    weights.close()


def test_half_of_what_may_go_goes() -> None:
    model = Strict(context=40)
    sliding, cache = Sliding(model, keep=10), model.new_cache()
    for token in range(40):
        sliding.decode(token, cache)
    assert list(cache.tokens) == list(range(40))
    sliding.decode(40, cache)
    assert list(cache.tokens) == [*range(10), *range(25, 41)]


def test_a_memory_that_cannot_shift_reads_again() -> None:
    prompt = Toy().tokenizer.encode(PROMPT)
    large, small = Strict(context=4096), Strict(context=40)
    expected = run(plain_steps(job(large, large.new_cache(), prompt, count=60)))
    cache = Fixed()
    assert run(plain_steps(job(Sliding(small, keep=10), cache, prompt, count=60))) == expected
    assert small.most == 40
    # 19 tokens are read, then one at a time until 40 are held; then 10 and 15 of them again.
    assert small.passes[:26] == [16, 3, *[1] * 21, 16, 9, 1]


def test_the_rest_is_the_model_itself() -> None:
    model = Strict(context=40, batch=16)
    sliding = Sliding(model, keep=4)
    assert sliding.context_size > 10**9
    assert sliding.batch_size == 16
    one, two = sliding.new_cache(), sliding.new_cache()
    sliding.prefill([1, 2, 3], one)
    sliding.extend([Chunk(one, [4]), Chunk(two, [5])])
    assert (list(one.tokens), list(two.tokens)) == ([1, 2, 3, 4], [5])
    with pytest.raises(EngineError):  # a prompt must fit
        for start in range(0, 48, 16):
            sliding.prefill(range(start, start + 16), two)


def held(*tokens: int) -> ToyCache:
    cache = ToyCache()
    cache.tokens.extend(tokens)
    return cache


def test_what_was_dropped_from_the_conversation_is_shifted_away() -> None:
    system, old, kept, new = range(10), range(100, 150), range(200, 260), range(300, 320)
    cache = held(*system, *old, *kept)
    prompt = [*system, *kept, *new]
    assert slide_to(cache, prompt) == 60
    assert list(cache.tokens) == prompt[:70]


def test_what_follows_the_saved_part_is_left_to_the_loop() -> None:
    """A reply that was not kept, say; prefill trims it."""
    model = Strict(context=200, batch=200)
    system, old, kept, new = range(10), range(100, 130), range(140, 180), range(200, 220)
    cache = held(*system, *old, *kept, 255, 255)
    prompt = [*system, *kept, *new]
    assert slide_to(cache, prompt) == 40
    run(plain_steps(job(model, cache, prompt, count=1)))
    assert model.passes == [20]


def test_the_longest_of_several_places_is_taken() -> None:
    part = range(100, 140)
    cache = held(1, 2, 3, *part[:34], 9, *part, 9, *part[:36])
    assert slide_to(cache, [1, 2, *part, 7]) == 40
    assert list(cache.tokens[:42]) == [1, 2, *part]


@pytest.mark.parametrize(
    ("tokens", "prompt"),
    [
        ([], range(50)),
        (range(50), []),
        (range(50), range(50)),
        (range(50), range(80)),
        (range(80), range(50)),
        ([*range(10), *range(100, 150)], range(200, 250)),
        ([*range(10), 99, *range(100, 131)], [*range(10), *range(100, 131)]),
    ],
)
def test_nothing_to_save_leaves_the_cache_alone(tokens: list[int], prompt: list[int]) -> None:
    cache = held(*tokens)
    assert slide_to(cache, prompt) == 0
    assert list(cache.tokens) == list(tokens)


def test_least_says_what_is_worth_it() -> None:
    cache = held(1, 2, 3, 4, 5, 6)
    assert slide_to(cache, [1, 4, 5, 6], least=4) == 0
    assert slide_to(cache, [1, 4, 5, 6], least=3) == 3
    assert list(cache.tokens) == [1, 4, 5, 6]


def test_a_memory_that_cannot_shift_saves_nothing() -> None:
    cache = Fixed()
    cache.tokens.extend([*range(10), *range(100, 200)])
    assert slide_to(cache, [*range(10), *range(150, 200)]) == 0
    assert len(cache.tokens) == 110


def test_a_text_that_repeats_itself_takes_no_longer() -> None:
    """A model that has run into a loop: every place matches nearly everything."""
    cache = held(1, *[7, 8] * 10_000)
    assert slide_to(cache, [1, *[8, 7] * 9_000]) == 18_000
    assert list(cache.tokens[:4]) == [1, 8, 7, 8]


@given(
    st.lists(st.integers(0, 2), max_size=40),
    st.lists(st.integers(0, 2), max_size=40),
    st.integers(1, 5),
)
def test_no_other_shift_would_save_more(tokens: list[int], prompt: list[int], least: int) -> None:
    cache = held(*tokens)
    shared = shared_prefix(tokens, prompt)
    possible = [
        shared_prefix(tokens[start:], prompt[shared:]) for start in range(shared + 1, len(tokens))
    ]
    best = max(possible, default=0)
    saved = slide_to(cache, prompt, least)
    assert saved == (best if best >= least else 0)
    assert shared_prefix(cache.tokens, prompt) >= shared + saved


@pytest.mark.parametrize("unread", [0, 1, 3])
def test_a_reply_that_has_slid_goes_on_from_what_the_cache_holds(unread: int) -> None:
    prompt = list(range(100))
    cache = ToyCache()
    held = [*prompt[:6], *prompt[80 : 100 - unread]]
    cache.tokens.extend(held)
    wanted = [*prompt[:6], *prompt[80:]]
    assert slid(prompt, cache, keep=6, context_size=30) == wanted


@pytest.mark.parametrize(
    "held",
    [
        [],
        [*range(6), *range(70, 95)],
        [*range(6), *range(76, 100)],
        [9, *range(1, 6), *range(90, 100)],
    ],
)
def test_where_it_holds_something_else_or_is_full_half_of_the_rest_stays(held: list[int]) -> None:
    cache = ToyCache()
    cache.tokens.extend(held)
    wanted = [*range(6), *range(88, 100)]
    assert slid(range(100), cache, keep=6, context_size=30) == wanted
