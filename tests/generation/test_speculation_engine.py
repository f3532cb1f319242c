"""Speculation over the real engine with exact settings: the tokens of the plain loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort
from nextok.generation.draft_length import DraftLength
from nextok.generation.errors import EngineError
from nextok.generation.events import Speculation, Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps
from nextok.generation.model import Cache
from nextok.generation.model_drafter import ModelDrafter
from nextok.generation.ngram_drafter import NgramDrafter
from nextok.generation.sampling import Sampling
from nextok.generation.speculation import Drafter, speculative_steps
from nextok.generation.step_costs import AssumedCosts

GREEDY = Sampling(seed=1, temperature=0.0)
OPTIONS = ContextOptions(
    context_size=512, sequences=2, threads=1, batch_size=64, ubatch_size=32, flash_attention="on"
)
Build = Callable[..., Path]


def lengths(row: float) -> DraftLength:
    """row: what a guess costs. If it is nothing there are many, and far ones."""
    return DraftLength(AssumedCosts(drafting=0.0, row=row), hope=0.5 if row else 0.9)


class Talker:
    """A model and what it takes to run it twice."""

    def __init__(self, path: Path, options: ContextOptions = OPTIONS) -> None:
        self.weights = LlamaWeights.load(path, LoadOptions(), Abort())
        self.model = self.weights.open(options, Abort())
        self.length = lengths(0)

    def ids(self, text: str) -> list[int]:
        return self.weights.tokenizer.encode(text, special=True)

    def plain(self, prompt: Sequence[int], sampling: Sampling = GREEDY, count: int = -1) -> Any:
        return self._run(plain_steps, prompt, sampling, count)

    def guessing(
        self,
        drafter: Drafter,
        prompt: Sequence[int],
        sampling: Sampling = GREEDY,
        count: int = -1,
        *,
        row: float = 0.0,
    ) -> Any:
        self.length = lengths(row)

        def loop(job: Job) -> Steps:
            return speculative_steps(job, drafter, self.length)

        return self._run(loop, prompt, sampling, count)

    def _run(
        self, loop: Callable[[Job], Steps], prompt: Sequence[int], sampling: Sampling, count: int
    ) -> tuple[list[int], FinishReason | None, list[int]]:
        """Tokens, the reason and the ledger."""
        cache = self.model.new_cache()
        sampler = self.weights.sampler(sampling, context_size=512, history=prompt)
        job = Job(
            model=self.model, cache=cache, sampler=sampler, prompt=prompt,
            is_end=self.weights.tokenizer.is_end, clock=lambda: 0.0, max_tokens=count,
        )  # fmt: skip
        tokens: list[int] = []
        reason = None
        steps = loop(job)
        try:
            while True:
                step = next(steps)
                if isinstance(step, Step):
                    tokens.append(step.id)
        except StopIteration as end:
            reason = end.value
        except EngineError:
            reason = FinishReason.ERROR
        ledger = list(cache.tokens)
        sampler.close()
        cache.close()
        return tokens, reason, ledger

    def close(self) -> None:
        self.model.close()
        self.weights.close()


@pytest.fixture
def talker(request: pytest.FixtureRequest) -> Iterator[Talker]:
    """Over the model that the test names."""
    made = Talker(request.getfixturevalue(request.param))
    yield made
    made.close()


@pytest.mark.parametrize("talker", ["loop_gguf"], indirect=True)
@pytest.mark.parametrize(
    "sampling",
    [
        GREEDY,
        GREEDY._replace(repeat_penalty=1.5, repeat_last_n=3),
        GREEDY._replace(presence_penalty=1.0, frequency_penalty=0.3, repeat_last_n=-1),
        GREEDY._replace(dry_multiplier=2.0, dry_sequence_breakers=()),
        Sampling(seed=4, temperature=0.6, top_k=5),
        Sampling(seed=4, temperature=0.6, mirostat=2),
        Sampling(seed=4, temperature=0.9, repeat_penalty=1.2, xtc_probability=0.5, top_k=9),
    ],
    ids=["greedy", "repeat", "presence", "dry", "sampled", "mirostat", "xtc"],
)
def test_every_sampler_draws_what_it_would(talker: Talker, sampling: Sampling) -> None:
    """Its memory of what was said, and its random numbers, are those of the plain loop."""
    prompt = talker.ids("<s>la li la li<|go|>")
    plain = talker.plain(prompt, sampling, 60)
    assert talker.guessing(NgramDrafter(), prompt, sampling, 60) == plain
    assert talker.length.figures.drafted > 0


@pytest.mark.parametrize("talker", ["loop_gguf"], indirect=True)
def test_a_loop_costs_a_fraction_of_its_passes(talker: Talker) -> None:
    prompt = talker.ids("<s>sing<|go|>")
    assert talker.guessing(NgramDrafter(), prompt, count=200) == talker.plain(prompt, count=200)
    figures = talker.length.figures
    assert figures.accepted == figures.drafted > 180


@pytest.mark.parametrize("talker", ["nan_gguf"], indirect=True)
def test_what_was_said_before_an_engine_fails_is_said(talker: Talker) -> None:
    prompt = talker.ids("<s>one two three one<|go|>")
    tokens, reason, _ = plain = talker.plain(prompt)
    assert (b"".join(map(talker.weights.tokenizer.piece, tokens)), reason) == (
        b"one two ", FinishReason.ERROR,
    )  # fmt: skip
    knowing = Knowing([*prompt, *tokens, *talker.ids("three")])
    assert talker.guessing(knowing, prompt) == plain


class Knowing:
    """Guesses what it was given, every fifth token wrongly."""

    def __init__(self, text: Sequence[int]) -> None:
        self._text = [token if place % 5 else token + 1 for place, token in enumerate(text)]

    def reset(self, prompt: Sequence[int]) -> None: ...

    def propose(self, history: Sequence[int], limit: int) -> Sequence[int]:
        return self._text[len(history) : len(history) + limit]


WORDS = "the cat runs over the red sun and the dog sings but the old sea sleeps . now the cat"


@pytest.mark.parametrize("talker", ["sliding_gguf"], indirect=True)
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_layers_with_a_window_take_drafts_back(talker: Talker, temperature: float) -> None:
    """Far beyond the window of 16 tokens."""
    prompt = talker.ids("<s>" + WORDS)
    sampling = Sampling(seed=2, temperature=temperature, ignore_eos=True)
    plain = talker.plain(prompt, sampling, 120)
    assert talker.guessing(Knowing([*prompt, *plain[0]]), prompt, sampling, 120) == plain
    assert talker.length.figures.accepted > 60
    assert talker.length.figures.accepted < talker.length.figures.drafted


@pytest.mark.parametrize("talker", ["recurrent_gguf", "hybrid_gguf"], indirect=True)
def test_a_memory_that_cannot_be_cut_is_left_alone_after_the_first_wrong_guess(
    talker: Talker,
) -> None:
    prompt = talker.ids("<s>" + WORDS)
    sampling = GREEDY._replace(ignore_eos=True)
    plain = talker.plain(prompt, sampling, 60)
    assert talker.guessing(Knowing([*prompt, *plain[0]]), prompt, sampling, 60) == plain
    assert talker.length.figures.steps == 1


COPY = (
    "The lighthouse keeper climbed the narrow stairs every evening at six. He carried a lamp, a "
    "tin of oil, and a small brass key. The wind came in from the north."
)


@pytest.fixture(scope="module")
def starter(starter_gguf: Path) -> Iterator[Talker]:
    made = Talker(starter_gguf)
    yield made
    made.close()


@pytest.fixture
def copying(starter: Talker) -> list[int]:
    """A prompt that asks for a copy."""
    return starter.ids(
        f"<|im_start|>user\nRepeat this text word for word:\n\n{COPY}<|im_end|>\n"
        f"<|im_start|>assistant\n"
    )


def test_a_copy_is_guessed_from_the_prompt(starter: Talker, copying: list[int]) -> None:
    plain = starter.plain(copying, count=36)
    assert starter.guessing(NgramDrafter(), copying, count=36, row=0.3) == plain
    figures = starter.length.figures
    assert figures.accepted >= 20
    assert figures.accepted >= 0.7 * figures.drafted
    assert COPY[:90] in b"".join(map(starter.weights.tokenizer.piece, plain[0])).decode()


def test_a_model_that_drafts_for_itself_is_always_right(
    starter: Talker, copying: list[int]
) -> None:
    cache: Cache = starter.model.new_cache()
    sampler = starter.weights.sampler(GREEDY, context_size=512, history=())
    drafter = ModelDrafter(starter.model, cache, sampler)
    plain = starter.plain(copying, count=14)
    assert starter.guessing(drafter, copying, count=14) == plain
    figures: Speculation = starter.length.figures
    assert figures.accepted == figures.drafted > 6
    sampler.close()
    cache.close()
