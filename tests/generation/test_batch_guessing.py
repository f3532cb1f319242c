"""Guesses in a batch on the toy backend: the same words as without them, in fewer passes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import END, Toy, ToyModel
from nextok.generation.abort import Abort
from nextok.generation.batch_guessing import Guessing, SharedCosts
from nextok.generation.batching import Batch, batched
from nextok.generation.errors import EngineError
from nextok.generation.events import Finish, Prefill, Token
from nextok.generation.finish import FinishReason
from nextok.generation.model import Chunk, Logits
from nextok.generation.ngram_drafter import NgramDrafter
from nextok.generation.request import Request
from nextok.generation.sampling import Sampling
from nextok.generation.speculation import MOST_DRAFTS, Drafter
from nextok.generation.step_costs import AssumedCosts, Costs, MeasuredCosts

PROMPTS = ("A language", "The prompt is", "One of", "That is why", "Each", "The answer", "It looks")


class Free(AssumedCosts):
    """Rows that cost next to nothing, so that whatever may be guessed is."""

    def __init__(self) -> None:
        super().__init__(drafting=0.0, row=0.001)


class Counting(ToyModel):
    """Remembers how many tokens each sequence had in each pass."""

    def __init__(self, rows: int) -> None:
        super().__init__(ContextOptions(context_size=4096, batch_size=rows), Abort())
        self.passes: list[list[int]] = []

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        assert sum(len(chunk.tokens) for chunk in batch) <= self.batch_size
        assert all(0 <= token <= END for chunk in batch for token in chunk.tokens)
        self.passes.append([len(chunk.tokens) for chunk in batch])
        return super().extend(batch)


class Knowing:
    """Guesses what will be said, and errs with a given chance."""

    def __init__(self, errs: float) -> None:
        self._errs = errs
        self._chance = random.Random(5)
        self._answer: Sequence[int] = ()
        self._prompt = 0

    def reset(self, prompt: Sequence[int]) -> None:
        self._prompt = len(prompt)
        self._answer = answer(bytes(prompt))

    def propose(self, history: Sequence[int], limit: int) -> Sequence[int]:
        said = len(history) - self._prompt
        guess = self._answer[said : said + limit]
        return [ord("%") if self._chance.random() < self._errs else token for token in guess]


class Scripted:
    """A sampler that says what it is told to, and fails at the end if it is to."""

    def __init__(self, text: bytes, *, fails: bool = False) -> None:
        self._tokens = itertools.chain(text, itertools.repeat(END))
        self._fails = fails

    def sample(self, logits: Logits) -> int:
        token = next(self._tokens)
        if token == END and self._fails:
            raise EngineError("not a number")
        return token

    def accept(self, token: int) -> None: ...

    def reset(self) -> None: ...


TOY = Toy()


def greedy(prompt: bytes, **options: object) -> Request:
    sampler = TOY.sampler(Sampling(temperature=0.0), context_size=4096, history=prompt)
    return Request(prompt=list(prompt), sampler=sampler, context_size=4096, **options)  # type: ignore[arg-type]


def said(prompt: bytes, sampler: Scripted) -> Request:
    return Request(prompt=list(prompt), sampler=sampler, context_size=4096)


def answer(prompt: bytes) -> list[int]:
    """What the toy says, one token a pass."""
    told = batched(batch(Counting(64), 1), iter([greedy(prompt, max_tokens=60)]))
    return [event.id for _, event in told if isinstance(event, Token)]


def batch(model: Counting, parallel: int, guessing: Guessing | None = None) -> Batch:
    return Batch(
        model=model,
        piece=TOY.tokenizer.piece,
        is_end=TOY.tokenizer.is_end,
        clock=lambda: float(len(model.passes)),
        abort=Abort(),
        parallel=parallel,
        capacity=100_000,
        rows=model.batch_size,
        guessing=guessing,
    )


def guessing(
    drafters: Sequence[Drafter], costs: Callable[[int], Costs] = lambda sequences: Free()
) -> Guessing:
    return Guessing(
        drafters,
        SharedCosts(costs),
        hope=0.9,
        is_end=TOY.tokenizer.is_end,
        vocabulary=END + 1,
        clock=lambda: 0.0,
    )


class Told:
    """What each request was told, to the end."""

    def __init__(self, told: Batch, requests: Iterator[Request]) -> None:
        self.tokens: dict[int, list[Token]] = {}
        self.finishes: dict[int, Finish] = {}
        for place, event in batched(told, requests):
            if isinstance(event, Token):
                self.tokens.setdefault(place, []).append(event)
            elif not isinstance(event, Prefill):
                self.finishes[place] = event

    def text(self, place: int) -> str:
        words = "".join(token.text for token in self.tokens[place])
        return words + self.finishes[place].text

    def endings(self) -> dict[int, tuple[str, FinishReason, str | None, int]]:
        return {
            place: (self.text(place), one.reason, one.stop, one.completion_tokens)
            for place, one in self.finishes.items()
        }


def requests() -> Iterator[Request]:
    for place, prompt in enumerate(PROMPTS):
        yield greedy(prompt.encode(), max_tokens=12 + 11 * (place % 3), stops=["step", "wait"])


@pytest.mark.parametrize("parallel", [1, 3, 7])
@pytest.mark.parametrize("rows", [9, 64])
@pytest.mark.parametrize("errs", [0.0, 0.2, 1.0])
def test_the_words_are_those_without_guesses(parallel: int, rows: int, errs: float) -> None:
    plain, guessed = Counting(rows), Counting(rows)
    drafters = [Knowing(errs) for _ in range(parallel)]
    expected = Told(batch(plain, parallel), requests())
    found = Told(batch(guessed, parallel, guessing(drafters)), requests())
    assert found.endings() == expected.endings()
    figures = [one.speculation for one in found.finishes.values()]
    accepted = sum(one.accepted for one in figures if one)
    drafted = sum(one.drafted for one in figures if one)
    if errs == 1:
        assert accepted == 0
    else:
        assert drafted >= accepted > 20
        assert len(guessed.passes) < len(plain.passes)
    told = [token for tokens in found.tokens.values() for token in tokens]
    assert sum(token.drafted for token in told) <= accepted
    assert all(one.speculation is None for one in expected.finishes.values())


def test_looking_up_finds_what_the_prompt_holds() -> None:
    words = b"the quick brown fox jumps over the lazy dog"
    model = Counting(64)
    asked = [said(words + b". " + bytes([name]) + b" ", Scripted(words)) for name in b"ab"]
    found = Told(batch(model, 2, guessing([NgramDrafter(), NgramDrafter()])), iter(asked))
    assert [found.text(place) for place in (0, 1)] == [words.decode()] * 2
    figures = found.finishes[0].speculation
    assert figures is not None
    assert figures.accepted > len(words) / 2
    assert len(model.passes) < len(words) / 2


def test_nobody_guesses_beside_a_prompt() -> None:
    """Nor are more drafts in a pass than leave the engine with the same kernels."""
    model = Counting(512)
    drafters = [Knowing(0.0) for _ in range(3)]
    asked = [greedy(prompt * 20, max_tokens=50) for prompt in (b"Aa", b"Bb", b"Cc", b"Dd")]
    Told(batch(model, 3, guessing(drafters)), iter(asked))
    assert model.passes[0] == [40, 40, 40]
    reading = [one for one in model.passes if 39 <= max(one) <= 40]
    assert [1, 1, 40] in [sorted(one) for one in reading]
    assert 40 < max(sum(one) for one in model.passes if one not in reading) <= MOST_DRAFTS + 1


def test_a_failure_after_guesses_that_came_true_is_told_last() -> None:
    model = Counting(64)
    words = b"to be or not to be or not to be or not to be"
    asked = [said(b"?", Scripted(words, fails=True))]
    found = Told(batch(model, 1, guessing([NgramDrafter()])), iter(asked))
    assert found.text(0) == words.decode()
    assert found.finishes[0].reason is FinishReason.ERROR
    assert len(model.passes) < len(words)


def test_a_step_s_time_is_shared_by_its_tokens() -> None:
    """The clock goes on by a second a pass."""
    model = Counting(64)
    asked = [said(b"?", Scripted(b"abcdefgh" * 8))]
    found = Told(batch(model, 1, guessing([NgramDrafter()])), iter(asked))
    assert sum(token.gap for token in found.tokens[0]) == pytest.approx(len(model.passes) - 1)
    assert {token.gap for token in found.tokens[0][1:] if token.drafted} < {
        1 / n for n in range(2, 63)
    }


class Table(AssumedCosts):
    """Rows cost half a pass each until there are four, and nothing from there on."""

    def __init__(self) -> None:
        super().__init__(drafting=0.25, row=0.5)

    def rows(self, count: int) -> float:
        return 1 + 0.5 * min(count - 1, 3)


def test_alone_a_row_costs_what_it_costs() -> None:
    shared = SharedCosts(lambda sequences: Table())
    assert [shared.rows(count) for count in (1, 2, 4, 9)] == [1, 1.5, 2.5, 2.5]
    assert shared.drafting == 0.25


def test_of_many_each_pays_for_its_own_row_in_tokens() -> None:
    """A token of four costs a quarter of the pass: half a pass more is two tokens."""
    made: list[int] = []

    def costs(sequences: int) -> Costs:
        made.append(sequences)
        return Table()

    shared = SharedCosts(costs)
    shared.begin(4)
    assert [shared.rows(count) for count in (1, 2, 4)] == [1, 3, 7]
    assert shared.drafting == 1.0
    shared.add(2)
    assert [shared.rows(count) for count in (1, 2, 4)] == [1, 3, 3], "others have taken two"
    shared.begin(4)
    assert shared.rows(2) == 3, "another pass"
    assert made == [4]


def test_what_passes_took_is_known_by_their_sequences() -> None:
    shared = SharedCosts(lambda sequences: MeasuredCosts())
    for sequences, seconds in ((2, 1.0), (3, 2.0)):
        for _ in range(4):
            shared.begin(sequences)
            shared.took(seconds)
    shared.begin(2)
    assert shared.is_known
    shared.add(1)
    shared.took(1.25)
    shared.begin(2)
    assert shared.rows(2) == pytest.approx(1.5)
    shared.begin(5)
    assert not shared.is_known


def test_where_rows_cost_as_much_as_tokens_nobody_guesses() -> None:
    """A pass over seven rows that takes as long as seven passes: drafts save nothing."""

    def costs(sequences: int) -> Costs:
        return AssumedCosts(drafting=0.0, row=1 / sequences)

    dear, cheap = Counting(512), Counting(512)
    asked = [prompt.encode() * 2 for prompt in PROMPTS]
    drafters = [Knowing(0.3) for _ in asked]
    Told(
        batch(dear, 7, guessing(drafters, costs)), (greedy(one, max_tokens=40) for one in asked)
    )  # fmt: skip
    assert all(set(one) <= {1} for one in dear.passes[1:])
    Told(batch(cheap, 7, guessing(drafters)), (greedy(one, max_tokens=40) for one in asked))
    assert len(cheap.passes) < len(dear.passes)
