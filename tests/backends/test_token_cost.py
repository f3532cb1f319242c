"""What a token costs in Python: the same calls whatever the vocabulary, prompt and answer are."""

from __future__ import annotations

import gc
import itertools
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort
from nextok.generation.events import Event, Prefill, Token
from nextok.generation.loop import Job
from nextok.generation.sampling import Sampling
from nextok.generation.stream import generate


@pytest.fixture(params=["scripted", "starter"])
def weights(request: pytest.FixtureRequest) -> Iterator[LlamaWeights]:
    name = {"scripted": "loop_gguf", "starter": "starter_gguf"}[request.param]
    path: Path = request.getfixturevalue(name)
    weights = LlamaWeights.load(path, LoadOptions(), Abort())
    yield weights
    weights.close()


def events(weights: LlamaWeights, prompt_tokens: int) -> Iterator[Event]:
    """Forty tokens after a prompt, with every sampler and a stop string that never comes."""
    abort = Abort()
    prompt = weights.tokenizer.encode(" a" * prompt_tokens)[:prompt_tokens]
    model = weights.open(ContextOptions(context_size=512), abort)
    sampling = Sampling(seed=1, repeat_penalty=1.01, dry_multiplier=0.1, ignore_eos=True)
    sampler = weights.sampler(sampling, context_size=512, history=prompt)
    job = Job(
        model=model,
        cache=model.new_cache(),
        sampler=sampler,
        prompt=prompt,
        is_end=weights.tokenizer.is_end,
        clock=time.monotonic,
        max_tokens=40,
    )
    yield from generate(
        job, lambda token: b"xx", stops=["never", "nor this"], abort=abort, origin=0.0
    )
    sampler.close()
    model.close()


def calls_of_each_token(weights: LlamaWeights, prompt_tokens: int) -> list[int]:
    """How many functions, Python's and C's, each token after the first takes."""
    counter = itertools.count()

    def count(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            next(counter)

    found = []
    gc.disable()  # a collection may call whoever asked to be told of it
    stream: Callable[[], Event] = events(weights, prompt_tokens).__next__
    while isinstance(stream(), Prefill):
        pass
    for _ in range(39):
        before = next(counter)
        sys.setprofile(count)
        try:
            event = stream()
        finally:
            sys.setprofile(None)
        assert isinstance(event, Token)
        found.append(next(counter) - before)
    gc.enable()
    return found


def test_each_token_takes_the_same_calls(weights: LlamaWeights) -> None:
    short, long = calls_of_each_token(weights, 4), calls_of_each_token(weights, 200)
    assert set(short) == set(long)
    assert len(set(short)) == 1
    assert short[0] < 150


def test_no_object_is_made_of_a_vocabulary_entry(weights: LlamaWeights) -> None:
    """49,152 floats would be more than a megabyte."""
    stream = events(weights, 4)
    for event in stream:
        if isinstance(event, Token) and event.index == 5:
            break
    tracemalloc.start()
    try:
        for event in itertools.islice(stream, 20):
            assert isinstance(event, Token)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000
    assert sum(isinstance(event, Token) for event in stream) == 14
