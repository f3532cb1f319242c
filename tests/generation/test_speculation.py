"""The speculative loop held against the plain one: same tokens, same end, same cache, same odds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from nextok.backends.options import ContextOptions
from nextok.backends.toy import END, Toy, ToyCache, ToyModel
from nextok.generation.abort import Abort, Aborted
from nextok.generation.draft_length import DraftLength
from nextok.generation.errors import ContextError, EngineError
from nextok.generation.events import Finish, Prefill, Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, Steps, plain_steps
from nextok.generation.model import Chunk, Logits, Sampler
from nextok.generation.nucleus import NucleusSampler, nucleus, softmax
from nextok.generation.reading_along import ReadingAlong
from nextok.generation.reasoning import ReasoningSplitter
from nextok.generation.sliding import Sliding
from nextok.generation.speculation import Drafter, speculative_steps
from nextok.generation.step_costs import MeasuredCosts
from nextok.generation.stream import generate
from nextok.generation.thinking_budget import ThinkingBudget

PROMPT = list(b"A language model ")
Guesses = Callable[[Sequence[int], int], Sequence[int]]


class Eager(DraftLength):
    """Verifies whatever it is allowed to."""

    def __init__(self) -> None:
        super().__init__(MeasuredCosts())

    def _best(self, room: int) -> int:
        return max(0, room)


class By:
    """A drafter that is a function of history and limit."""

    def __init__(self, guesses: Guesses) -> None:
        self.propose = guesses

    def reset(self, prompt: Sequence[int]) -> None: ...


class Strict(ToyModel):
    """Refuses what an engine refuses, and remembers how many tokens each pass had."""

    def __init__(
        self, *, context: int = 4096, batch: int = 512, abort: Abort | None = None
    ) -> None:
        self.abort = abort or Abort()
        super().__init__(ContextOptions(context_size=context, batch_size=batch), self.abort)
        self.passes: list[int] = []

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        for chunk in batch:
            size = len(chunk.cache.tokens) + len(chunk.tokens)
            if size > self.context_size or not 1 <= len(chunk.tokens) <= self.batch_size:
                raise EngineError("no room")
            if not all(0 <= token <= END for token in chunk.tokens):
                raise EngineError("no such token")
            self.passes.append(len(chunk.tokens))
        return super().extend(batch)


class Said:
    """A run to its end."""

    def __init__(self, steps: Steps, job: Job) -> None:
        self.steps: list[Step] = []
        self.prefills: list[Prefill] = []
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                self.reason = end.value
                break
            (self.steps if isinstance(step, Step) else self.prefills).append(step)  # type: ignore[arg-type]
        self.tokens = [step.id for step in self.steps]
        self.ledger = list(job.cache.tokens)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Said)
        return (self.tokens, self.reason, self.ledger, self.prefills) == (
            other.tokens, other.reason, other.ledger, other.prefills,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.tokens} {self.reason} {len(self.ledger)}"


def job(
    model: ToyModel | None = None,
    *,
    sampler: Sampler | None = None,
    prompt: Sequence[int] = PROMPT,
    max_tokens: int = -1,
    seed: int = 3,
    temperature: float = 0.9,
) -> Job:
    model = model or Strict(context=256)
    return Job(
        model=model,
        cache=model.new_cache(),
        sampler=sampler or NucleusSampler(temperature=temperature, top_p=0.95, seed=seed),
        prompt=prompt,
        is_end=lambda token: token == END,
        clock=lambda: 0.0,
        max_tokens=max_tokens,
    )


def both(make: Callable[[], Job], drafter: Drafter) -> tuple[Said, Said]:
    """What is said plainly, and with guesses."""
    ours, theirs = make(), make()
    return Said(plain_steps(ours), ours), Said(speculative_steps(theirs, drafter, Eager()), theirs)


def knowing(text: Sequence[int], *, wrong: Callable[[int], bool] = lambda place: False) -> By:
    """Guesses what will be said, but for the places that it gets wrong."""

    def guesses(history: Sequence[int], limit: int) -> Sequence[int]:
        places = range(len(history), min(len(history) + limit, len(text)))
        return [text[place] + wrong(place) for place in places]

    return By(guesses)


def text_of(said: Said) -> list[int]:
    return [*PROMPT, *said.tokens]


@given(
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 0.3, 1.0, 3.0]),
    max_tokens=st.integers(-1, 60),
    garbage=st.lists(st.lists(st.integers(-3, END + 3), max_size=80), min_size=1, max_size=8),
    good=st.integers(1, 9),
)
@settings(deadline=None, max_examples=30)
def test_no_drafter_changes_what_is_said(
    seed: int, temperature: float, max_tokens: int, garbage: list[list[int]], good: int
) -> None:
    """Some guesses are right, some are no tokens, some are end tokens, some are far too many."""

    def make() -> Job:
        return job(seed=seed, temperature=temperature, max_tokens=max_tokens)

    plain = Said(plain_steps(ours := make()), ours)
    text, turns = text_of(plain), itertools.count()

    def guesses(history: Sequence[int], limit: int) -> Sequence[int]:
        turn = next(turns)
        return [*text[len(history) :][: turn % good], *garbage[turn % len(garbage)]]

    said = Said(speculative_steps(theirs := make(), By(guesses), Eager()), theirs)
    assert said == plain


def test_right_guesses_come_in_one_pass() -> None:
    plain = Said(plain_steps(ours := job(max_tokens=100)), ours)
    theirs = job(max_tokens=100)
    length = Eager()
    said = Said(speculative_steps(theirs, knowing(text_of(plain)), length), theirs)
    assert said == plain
    assert isinstance(theirs.model, Strict)
    # The first token comes from the prompt's row; 1 + 62 rows give 63; then 36 are left.
    assert theirs.model.passes == [17, 63, 36]
    assert [step.drafted for step in said.steps] == [
        False,
        *[True] * 62,
        False,
        *[True] * 35,
        False,
    ]
    figures = length.figures
    assert (figures.drafted, figures.accepted, figures.steps) == (62 + 35, 62 + 35, 2)


def test_a_wrong_guess_is_forgotten() -> None:
    plain = Said(plain_steps(ours := job(max_tokens=40)), ours)
    theirs = job(max_tokens=40)
    length = Eager()
    drafter = knowing(text_of(plain), wrong=lambda place: place % 10 == 0)
    said = Said(speculative_steps(theirs, drafter, length), theirs)
    assert said == plain
    assert length.figures.steps == 5  # up to places 20, 30, 40, 50, 57
    assert [step.drafted for step in said.steps].count(True) == length.figures.accepted
    assert length.figures.accepted == 40 - 1 - 5


def test_no_more_than_fits_in_a_batch_is_verified() -> None:
    plain = Said(plain_steps(ours := job(max_tokens=50)), ours)
    theirs = job(Strict(context=256, batch=8), max_tokens=50)
    said = Said(speculative_steps(theirs, knowing(text_of(plain)), Eager()), theirs)
    assert (said.tokens, said.ledger) == (plain.tokens, plain.ledger)
    assert isinstance(theirs.model, Strict)
    assert theirs.model.passes[3:] == [8, 8, 8, 8, 8, 8, 1]


def test_max_tokens_is_exact() -> None:
    text = text_of(Said(plain_steps(whole := job(max_tokens=80)), whole))
    for count in range(20):
        plain, said = both(partial(job, max_tokens=count), knowing(text))
        assert said == plain
        assert (len(said.tokens), said.reason) == (count, FinishReason.LENGTH)


def test_the_context_is_exact() -> None:
    text = text_of(Said(plain_steps(whole := job(max_tokens=80)), whole))
    for context in range(18, 40):
        plain, said = both(partial(job, Strict(context=context)), knowing(text))
        assert said == plain
        assert (len(said.tokens), said.reason) == (context - 17, FinishReason.CONTEXT)


def test_a_prompt_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ContextError):
        next(speculative_steps(job(Strict(context=17)), By(lambda *_: []), Eager()))


def test_a_prompt_without_an_answer_is_not_read() -> None:
    none = job(max_tokens=0)
    assert Said(speculative_steps(none, By(lambda *_: []), Eager()), none).reason is (
        FinishReason.LENGTH
    )
    assert none.cache.tokens == []


class Scripted:
    """A sampler that says what it is told to, and fails there if it is told to."""

    def __init__(self, tokens: Sequence[int], *, fails: bool = False) -> None:
        self._tokens = iter([*tokens, END])
        self._fails = fails
        self.drawn: list[int] = []

    def sample(self, logits: Logits) -> int:
        token = END if self._fails and self.drawn[-1:] == [ord("!")] else next(self._tokens)
        if self._fails and token == END:
            raise EngineError("NaN")
        self.drawn.append(token)
        return token

    def accept(self, token: int) -> None: ...

    def reset(self) -> None: ...


@pytest.mark.parametrize("end", [END, ord("."), -1])
def test_nothing_is_accepted_past_an_end_token(end: int) -> None:
    """Whatever the drafter takes for the next token when the text ends."""
    for length in range(12):
        text = list(b"hello world!"[:length])
        drafter = knowing([*PROMPT, *text, end, *b"and more"])
        samplers = [Scripted(text), Scripted(text)]
        ours, theirs = (job(sampler=sampler) for sampler in samplers)
        plain = Said(plain_steps(ours), ours)
        said = Said(speculative_steps(theirs, drafter, Eager()), theirs)
        assert said == plain
        assert (said.tokens, said.reason) == (text, FinishReason.EOS)
        assert samplers[1].drawn == [*text, END]


def test_only_what_is_yielded_was_drawn() -> None:
    """A sampler that counts must not count what a wrong guess would have led to."""
    plain = Said(plain_steps(ours := job(max_tokens=60)), ours)
    sampler = Scripted(plain.tokens)
    theirs = job(sampler=sampler, max_tokens=60)
    wrong = knowing(text_of(plain), wrong=lambda place: place % 4 == 0)
    assert Said(speculative_steps(theirs, wrong, Eager()), theirs) == plain
    assert sampler.drawn == plain.tokens


def test_a_failing_engine_ends_it_after_what_was_said() -> None:
    text = list(b"so far!")
    theirs = job(sampler=Scripted(text, fails=True))
    steps = speculative_steps(theirs, knowing([*PROMPT, *text, *b"more"]), Eager())
    said = []
    with pytest.raises(EngineError, match="NaN"):
        for step in steps:
            if isinstance(step, Step):
                said.append(step.id)
    assert said == text
    assert list(theirs.cache.tokens) == [*PROMPT, *text]


def test_closing_it_leaves_a_true_ledger() -> None:
    text = text_of(Said(plain_steps(whole := job(max_tokens=80)), whole))
    wrong = knowing(text, wrong=lambda place: place % 7 == 0)
    model = Strict(context=256)
    for taken in range(1, 30):
        ours, theirs = job(model), job(model)
        for steps in (plain_steps(ours), speculative_steps(theirs, wrong, Eager())):
            assert len(list(itertools.islice(steps, 2 + taken))) == 2 + taken
            steps.close()
        assert list(theirs.cache.tokens) == list(ours.cache.tokens) == text[: 17 + taken - 1]


class Interrupted(Strict):
    """Trips the flag when it has read so many tokens in all, maybe in the middle of a pass."""

    def __init__(self, after: int) -> None:
        super().__init__(context=256)
        self._left = after

    def _logits(self, tokens: Sequence[int]) -> list[float]:
        self._left -= 1
        if self._left == 0:
            self.abort.trip(FinishReason.INTERRUPTED)
        return super()._logits(tokens)


def test_an_abort_leaves_a_true_ledger() -> None:
    """Of the rows of a pass that is cut short none is used, and no draft stays in the cache."""
    text = text_of(Said(plain_steps(whole := job(max_tokens=80)), whole))
    drafter = knowing(text, wrong=lambda place: place % 9 == 0)
    for after in range(1, 60):
        theirs = job(Interrupted(after), max_tokens=80)
        said = []
        with pytest.raises(Aborted):
            for step in speculative_steps(theirs, drafter, Eager()):
                if isinstance(step, Step):
                    said.append(step.id)
        assert text[: 17 + len(said)] == [*PROMPT, *said]
        held = list(theirs.cache.tokens)
        assert held == text[: len(held)]
        assert 17 + len(said) - 1 <= len(held) <= 17 + len(said)


def test_a_drafter_that_is_interrupted_leaves_a_true_ledger() -> None:
    text = text_of(Said(plain_steps(whole := job(max_tokens=80)), whole))

    def guesses(history: Sequence[int], limit: int) -> Sequence[int]:
        if len(history) > 30:
            raise Aborted
        return text[len(history) :][:5]

    theirs = job()
    with pytest.raises(Aborted):
        list(speculative_steps(theirs, By(guesses), Eager()))
    assert list(theirs.cache.tokens) == text[: len(theirs.cache.tokens)]
    assert len(theirs.cache.tokens) > 30


def test_what_a_step_took_is_shared_among_its_tokens() -> None:
    text = text_of(Said(plain_steps(whole := job(max_tokens=80)), whole))
    ticks = itertools.count()
    drafter = knowing(text, wrong=lambda place: place == 25)
    theirs = job(max_tokens=20)._replace(clock=lambda: float(next(ticks)))
    steps = Said(speculative_steps(theirs, drafter, Eager()), theirs).steps
    turns = [[*turn] for _, turn in itertools.groupby(steps, key=lambda step: step.at)]
    assert [len(turn) for turn in turns] == [1, 8, 11]
    for before, turn in itertools.pairwise(turns):
        assert sum(step.gap for step in turn) == pytest.approx(turn[0].at - before[0].at)
        assert len({step.gap for step in turn}) == 1


def test_a_prefix_that_is_held_is_not_read_again() -> None:
    plain, said = both(lambda: held(job(max_tokens=5), 9), By(lambda *_: []))
    assert said == plain
    assert said.prefills[-1] == Prefill(17, 17, 9)


def held(made: Job, count: int) -> Job:
    assert isinstance(made.cache, ToyCache)
    made.cache.tokens.extend(made.prompt[:count])
    return made


def test_the_drafter_is_told_where_a_text_begins() -> None:
    told: list[list[int]] = []

    class Told(By):
        def reset(self, prompt: Sequence[int]) -> None:
            told.append(list(prompt))

    theirs = job(max_tokens=3)
    Said(speculative_steps(theirs, Told(lambda *_: []), Eager()), theirs)
    assert told == [PROMPT]


def events(made: Job, *stops: str, drafter: Drafter | None) -> tuple[str, Finish, list[int]]:
    """Text, end and ledger of a stream over either loop."""

    def loop(job: Job) -> Steps:
        if drafter is None:
            return plain_steps(job)
        return speculative_steps(job, drafter, Eager())

    stream = generate(
        made, Toy().tokenizer.piece, stops=stops, abort=Abort(), origin=0.0, loop=loop
    )
    text, finish = "", None
    for event in stream:
        if isinstance(event, Finish):
            finish = event
        if not isinstance(event, Prefill):
            text += event.text  # type: ignore[union-attr]
    assert finish is not None
    return text, finish, list(made.cache.tokens)


@pytest.mark.parametrize("stops", [("wor",), ("l", "o w"), ("never",), ("d!",), ("hello world!",)])
def test_stop_strings_end_it_where_they_would(stops: tuple[str, ...]) -> None:
    text = list(b"hello world!")
    drafter = knowing([*PROMPT, *text, *b" and so on"])
    ours = events(job(sampler=Scripted(text)), *stops, drafter=None)
    theirs = events(job(sampler=Scripted(text)), *stops, drafter=drafter)
    for plain, said in zip(ours, theirs, strict=True):
        if isinstance(plain, Finish) and isinstance(said, Finish):
            assert (said.reason, said.stop, said.completion_tokens) == (
                plain.reason, plain.stop, plain.completion_tokens,
            )  # fmt: skip
        else:
            assert said == plain


def test_a_stop_string_leaves_nothing_said_after_it_in_the_cache() -> None:
    text = list(b"hello world!")
    made = job(sampler=Scripted(text))
    said, finish, ledger = events(made, "o", drafter=knowing([*PROMPT, *text]))
    assert (said, finish.reason) == ("hell", FinishReason.STOP)
    assert ledger == [*PROMPT, *b"hell"]


def test_sampled_output_has_the_distribution_of_the_model() -> None:
    """Of two tokens, the second of them drawn from the row before a guess, right or wrong."""
    prompt, runs = list(b"The "), 2000
    model = Strict()
    sampler = NucleusSampler(temperature=2.0, top_p=0.6, seed=11)
    expected: dict[tuple[int, int], float] = {}
    for one, chance in chances(model, prompt):
        for two, other in chances(model, [*prompt, one]):
            expected[one, two] = chance * other
    drafter = By(lambda history, limit: [max(expected, key=expected.__getitem__)[1]])
    seen: Counter[tuple[int, ...]] = Counter()
    accepted = 0
    for _ in range(runs):
        made = job(model, sampler=sampler, prompt=prompt, max_tokens=3)._replace(is_end=never)
        said = Said(speculative_steps(made, drafter, Eager()), made)
        seen[tuple(said.tokens[:2])] += 1
        accepted += said.steps[1].drafted
    assert 0.05 < accepted / runs < 0.95
    pairs = [pair for pair, chance in expected.items() if chance * runs >= 5]
    rest = 1 - sum(expected[pair] for pair in pairs)
    observed = [*(seen[pair] for pair in pairs), runs - sum(seen[pair] for pair in pairs)]
    ideal = [*(runs * expected[pair] for pair in pairs), runs * rest]
    assert chisquare(observed, ideal).pvalue > 0.001


def never(token: int) -> bool:
    """No token ends it, so that every run has as many."""
    return False


def chances(model: ToyModel, text: Sequence[int]) -> Iterator[tuple[int, float]]:
    """What the sampler above draws after a text, with its probability."""
    row = list(model.prefill(text, model.new_cache()))
    candidates = nucleus(softmax(row, 2.0), 0.6)
    mass = sum(probability for _, probability in candidates)
    yield from ((token, probability / mass) for token, probability in candidates)


def test_a_context_that_slides_does_so_at_the_same_places() -> None:
    def make() -> Job:
        made = job(Strict(context=40), max_tokens=150)
        return made._replace(model=Sliding(made.model, keep=6))

    plain = Said(plain_steps(ours := make()), ours)
    theirs = make()
    drafter = knowing(text_of(plain), wrong=lambda place: place % 11 == 0)
    steps = speculative_steps(
        theirs, drafter, length := Eager(), room=lambda: 40 - len(theirs.cache.tokens) - 1
    )
    assert Said(steps, theirs) == plain
    assert length.figures.accepted > 100


class Uncuttable(ToyCache):
    """A memory like a recurrent one."""

    def trim(self, length: int) -> int:
        return super().trim(length if length >= len(self.tokens) else 0)


def test_a_memory_that_cannot_be_cut_is_read_again_and_then_left_alone() -> None:
    text = text_of(Said(plain_steps(whole := job(max_tokens=60)), whole))
    drafter = knowing(text, wrong=lambda place: place == 30)
    theirs = job(Strict(context=256, batch=16), max_tokens=60)._replace(cache=Uncuttable())
    said = Said(speculative_steps(theirs, drafter, Eager()), theirs)
    assert (said.tokens, said.ledger) == (text[17:], text[:-1])
    assert isinstance(theirs.model, Strict)
    assert theirs.model.passes == [16, 1, 16, 16, 14, *[1] * 46]


class Thinker(Scripted):
    """Says its text whatever was forced in between."""

    def accept(self, token: int) -> None:
        self.drawn.append(token)


@pytest.mark.parametrize("budget", range(9))
def test_a_thinking_budget_is_kept_to_the_token(budget: int) -> None:
    """It forces tokens, in the middle of what was guessed and guessed rightly."""

    def make() -> Job:
        reader = ReadingAlong(Thinker(list(b"<think>abcdefgh")), ReasoningSplitter(), bytes_of)
        return job(
            sampler=ThinkingBudget(
                reader,
                budget=budget,
                in_reasoning=lambda: reader.splitter.in_reasoning,
                closing=lambda: list(f"{reader.splitter.closing}\n".encode()),
            )
        )

    plain = Said(plain_steps(ours := make()), ours)
    said = bytes(plain.tokens).decode()
    assert said == f"<think>{'abcdefgh'[:budget]}</think>\n{'abcdefgh'[budget:]}" or budget == 8
    for text in (text_of(plain), [*PROMPT, *b"<think>abcdefgh"]):
        theirs = make()
        assert Said(speculative_steps(theirs, knowing(text), Eager()), theirs) == plain


def bytes_of(token: int) -> bytes:
    return bytes([token]) if token < END - 1 else b""
