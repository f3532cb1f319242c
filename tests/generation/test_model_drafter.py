"""Guesses of a second model: here the toy, with a cache of its own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import END, ToyModel
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import EngineError
from nextok.generation.finish import FinishReason
from nextok.generation.model import Chunk, Logits
from nextok.generation.model_drafter import ModelDrafter
from nextok.generation.nucleus import NucleusSampler

PROMPT = list(b"A language model does one thing.")
REST = b" It looks at all the tokens so far"


class Counting(ToyModel):
    """Remembers how many tokens each pass had."""

    def __init__(self, *, context: int = 4096, batch: int = 512) -> None:
        self.abort = Abort()
        super().__init__(ContextOptions(context_size=context, batch_size=batch), self.abort)
        self.passes: list[int] = []

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        for chunk in batch:
            if len(chunk.cache.tokens) + len(chunk.tokens) > self.context_size:
                raise EngineError("no room")
            self.passes.append(len(chunk.tokens))
        return super().extend(batch)


class Greedy(NucleusSampler):
    def __init__(self) -> None:
        super().__init__(temperature=0, top_p=1, seed=0)


def drafter_of(model: Counting) -> ModelDrafter:
    return ModelDrafter(model, model.new_cache(), Greedy())


def test_it_says_what_it_holds_most_likely() -> None:
    drafter = drafter_of(Counting())
    drafter.reset(PROMPT)
    assert bytes(drafter.propose(PROMPT, 9)) == REST[:9]


def test_each_token_is_read_once() -> None:
    model = Counting()
    drafter = drafter_of(model)
    drafter.reset(PROMPT)
    history = [*PROMPT, *REST[:1]]
    assert model.passes == [32]
    assert bytes(drafter.propose(history, 4)) == REST[1:5]
    assert model.passes == [32, 1, 1, 1, 1]
    history += REST[1:6]  # all came true, and one token more
    assert bytes(drafter.propose(history, 2)) == REST[6:8]
    assert model.passes[5:] == [2, 1]
    history += b" looks"[:1] + b"xx"  # none did
    drafter.propose(history, 1)
    assert model.passes[7:] == [3]


def test_guesses_that_did_not_come_true_are_forgotten() -> None:
    model = Counting()
    cache = model.new_cache()
    drafter = ModelDrafter(model, cache, Greedy())
    drafter.reset(PROMPT)
    drafter.propose(PROMPT, 8)
    history = [*PROMPT, *REST[:3], ord("?"), ord("!")]
    drafter.propose(history, 1)
    assert cache.tokens == history


def test_what_the_next_text_shares_with_the_last_is_kept() -> None:
    model = Counting()
    drafter = drafter_of(model)
    drafter.reset(PROMPT)
    drafter.propose(PROMPT, 5)
    drafter.reset([*PROMPT[:20], *b"another end"])
    assert model.passes[-1] == 11
    drafter.reset([*PROMPT[:20], *b"another end"])
    assert model.passes[-1] == 1


def test_a_long_text_is_read_in_batches() -> None:
    model = Counting(batch=10)
    drafter = drafter_of(model)
    drafter.reset(PROMPT)
    assert model.passes == [10, 10, 10, 2]


def test_nothing_is_guessed_that_does_not_fit_into_its_context() -> None:
    model = Counting(context=36)
    drafter = drafter_of(model)
    drafter.reset(PROMPT)
    history = list(PROMPT)
    for token in REST[:8]:
        assert len(drafter.propose(history, 9)) == max(0, 36 - len(history))
        history.append(token)
    drafter.reset([*PROMPT, *PROMPT])
    assert list(drafter.propose([*PROMPT, *PROMPT], 9)) == []
    drafter.reset(PROMPT)
    assert bytes(drafter.propose(PROMPT, 3)) == REST[:3]


def test_a_model_that_fails_is_silent_until_the_next_text() -> None:
    class Broken(Greedy):
        is_broken = True

        def sample(self, logits: Logits) -> int:
            if self.is_broken:
                raise EngineError("NaN")
            return super().sample(logits)

    model, sampler = Counting(), Broken()
    drafter = ModelDrafter(model, model.new_cache(), sampler)
    drafter.reset(PROMPT)
    assert list(drafter.propose(PROMPT, 3)) == []
    passes = len(model.passes)
    assert list(drafter.propose([*PROMPT, 32], 3)) == []
    assert len(model.passes) == passes
    sampler.is_broken = False
    drafter.reset(PROMPT)
    assert bytes(drafter.propose(PROMPT, 3)) == REST[:3]


@pytest.mark.parametrize("after", [1, 5, 33, 35])
def test_an_interrupt_comes_through_and_leaves_it_usable(after: int) -> None:
    model = Counting()
    drafter = drafter_of(model)
    checks = iter(range(1000))

    def check() -> None:
        if next(checks) == after:
            model.abort.trip(FinishReason.INTERRUPTED)
        Abort.check(model.abort)

    model.abort.check = check  # type: ignore[method-assign]
    with pytest.raises(Aborted):
        drafter.reset(PROMPT)
        drafter.propose(PROMPT, 9)
    model.abort.rearm()
    drafter.reset(PROMPT)
    assert bytes(drafter.propose(PROMPT, 9)) == REST[:9]


def test_an_end_token_may_be_a_guess() -> None:
    model = Counting()
    drafter = drafter_of(model)
    end = list(b"the others come at a steady pace.")
    drafter.reset(end)
    assert drafter.propose(end, 2)[0] == END
