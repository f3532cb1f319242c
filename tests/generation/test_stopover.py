"""A stop on the way changes the number of passes, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import ToyModel
from nextok.generation.abort import Abort
from nextok.generation.loop import Job, plain_steps
from nextok.generation.model import Cache, Chunk, Logits, Model
from nextok.generation.nucleus import NucleusSampler
from nextok.generation.stopover import Stopover

PROMPT = list(b"A language model does one thing.")


class Watched(ToyModel):
    """The toy, and how many tokens each pass had."""

    def __init__(self, batch_size: int) -> None:
        options = ContextOptions(context_size=200, batch_size=batch_size)
        super().__init__(options, Abort())
        self.passes: list[int] = []

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        self.passes += [len(chunk.tokens) for chunk in batch]
        return super().extend(batch)


def said(model: Model, cache: Cache, prompt: Sequence[int]) -> list[object]:
    job = Job(
        model=model,
        cache=cache,
        sampler=NucleusSampler(temperature=0.0, top_p=1.0, seed=1),
        prompt=prompt,
        is_end=lambda token: False,
        clock=lambda: 0.0,
        max_tokens=5,
    )
    return list(plain_steps(job))


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 31])
def test_it_stops_once_with_so_many_tokens(length: int) -> None:
    model = Watched(8)
    cache, seen = model.new_cache(), []
    over = Stopover(model, length=length, reached=lambda there: seen.append(list(there.tokens)))
    plain = Watched(8)
    assert said(over, cache, PROMPT) == said(plain, plain.new_cache(), PROMPT)
    assert seen == [PROMPT[:length]]
    cuts = {0, length, *range(0, 33, 8)}
    passes = [end - start for start, end in zip(sorted(cuts), sorted(cuts)[1:], strict=False)]
    assert model.passes == [*passes, 1, 1, 1, 1]
    cache.trim(0)
    said(over, cache, PROMPT)
    assert len(seen) == 1


@pytest.mark.parametrize("length", [0, 12, 33, 500])
def test_what_is_behind_or_beyond_is_not_reached(length: int) -> None:
    """Twelve tokens are there already; 500 there never are. The answer is no prompt."""
    model = Watched(8)
    cache, seen = model.new_cache(), []
    model.prefill(PROMPT[:8], cache)
    model.prefill(PROMPT[8:12], cache)
    said(Stopover(model, length=length, reached=lambda there: seen.append(there)), cache, PROMPT)
    assert seen == []


def test_it_is_the_model_in_it() -> None:
    model = Watched(8)
    over = Stopover(model, length=5, reached=lambda there: None)
    assert (over.context_size, over.batch_size) == (200, 8)
    cache = over.new_cache()
    rows: Sequence[Logits] = over.extend([Chunk(cache, PROMPT[:8], rows=2)])
    assert len(rows) == 2 and model.passes == [8]
