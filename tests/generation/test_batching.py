"""Many prompts at once on the toy backend: each as if it were alone, and nobody waits in vain."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import END, Toy, ToyCache, ToyModel
from nextok.generation.abort import Abort
from nextok.generation.batching import Batch, Told, batched
from nextok.generation.errors import EngineError
from nextok.generation.events import Finish, Prefill, Token
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job
from nextok.generation.model import Cache, Chunk, Logits
from nextok.generation.request import Request
from nextok.generation.sampling import Sampling
from nextok.generation.stream import generate

PROMPTS = ("A language", "The prompt is", "One of", "That is why", "Each", "The answer", "It looks")


class Scripted:
    """A sampler that says what it is told to."""

    def __init__(self, text: bytes) -> None:
        self._tokens = itertools.chain(text, itertools.repeat(END))

    def sample(self, logits: Logits) -> int:
        return next(self._tokens)

    def accept(self, token: int) -> None: ...

    def reset(self) -> None: ...


class Broken(Scripted):
    """Its logits are no numbers from some token on."""

    def sample(self, logits: Logits) -> int:
        token = super().sample(logits)
        if token == END:
            raise EngineError("not a number")
        return token


class Watched(ToyModel):
    """Remembers how many tokens each sequence had in each pass, and which caches are open."""

    def __init__(self, options: ContextOptions, abort: Abort) -> None:
        super().__init__(options, abort)
        self.passes: list[list[int]] = []
        self.sequences: list[list[int]] = []
        """Of each pass, which memories were in it."""
        self.open = 0
        self.free: list[int] = []
        self.cuttable = True
        self.before_pass: Callable[[int], None] = lambda number: None

    def new_cache(self) -> ToyCache:
        self.open += 1
        return _Closing(self, self.free.pop(0))

    def number(self, cache: Cache) -> int:
        return cache.number if isinstance(cache, _Closing) else -1

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        self.before_pass(len(self.passes))
        self.passes.append([len(chunk.tokens) for chunk in batch])
        self.sequences.append([self.number(chunk.cache) for chunk in batch])
        return super().extend(batch)


class _Closing(ToyCache):
    def __init__(self, model: Watched, number: int) -> None:
        super().__init__()
        self._model = model
        self.number = number

    def fork(self) -> ToyCache:
        twin = self._model.new_cache()
        twin.tokens.extend(self.tokens)
        return twin

    def trim(self, length: int) -> int:
        if not self._model.cuttable and length < len(self.tokens):
            length = 0
        return super().trim(length)

    def close(self) -> None:
        self._model.open -= 1
        self._model.free.append(self.number)
        super().close()


class Setup:
    """A batch on the toy, with a clock that goes on by a second a pass."""

    def __init__(
        self,
        *,
        parallel: int = 3,
        capacity: int = 10_000,
        rows: int = 64,
        shared: Sequence[int] = (),
        root: bool = False,
        apart: bool = False,
    ) -> None:
        self.abort = Abort()
        self.toy = Toy()
        self.model = Watched(ContextOptions(context_size=4096, batch_size=rows), self.abort)
        self.model.free = list(range(parallel + root))
        self.batch = Batch(
            model=self.model,
            piece=self.toy.tokenizer.piece,
            is_end=self.toy.tokenizer.is_end,
            clock=lambda: float(len(self.model.passes)),
            abort=self.abort,
            parallel=parallel,
            capacity=capacity,
            rows=rows,
            shared=shared,
            root=root,
            apart=apart,
        )

    def greedy(self, prompt: str, **options: object) -> Request:
        ids = self.toy.tokenizer.encode(prompt)
        sampler = self.toy.sampler(Sampling(temperature=0.0), context_size=4096, history=ids)
        return Request(prompt=ids, sampler=sampler, context_size=4096, **options)  # type: ignore[arg-type]

    def saying(self, text: bytes, *, prompt: str = "?", **options: object) -> Request:
        ids = self.toy.tokenizer.encode(prompt)
        given = {"context_size": 4096, **options}
        return Request(prompt=ids, sampler=Scripted(text), **given)  # type: ignore[arg-type]

    def told(self, *requests: Request) -> list[Told]:
        return list(batched(self.batch, iter(requests)))

    def finishes(self, *requests: Request) -> dict[int, Finish]:
        """In the order they come."""
        told = self.told(*requests)
        return {place: event for place, event in told if isinstance(event, Finish)}


def texts(told: Sequence[Told]) -> dict[int, str]:
    found: dict[int, str] = {}
    for place, event in told:
        if not isinstance(event, Prefill):
            found[place] = found.get(place, "") + event.text
    return found


def alone(setup: Setup, request: Request) -> tuple[str, Finish]:
    request.sampler.reset()
    job = Job(
        model=setup.model,
        cache=ToyCache(),
        sampler=request.sampler,
        prompt=request.prompt,
        is_end=setup.batch.is_end,
        clock=setup.batch.clock,
        max_tokens=request.max_tokens,
    )
    events = list(
        generate(job, setup.batch.piece, stops=request.stops, abort=setup.abort, origin=0.0)
    )
    (finish,) = [event for event in events if isinstance(event, Finish)]
    return "".join(event.text for event in events if not isinstance(event, Prefill)), finish


@pytest.mark.parametrize(
    ("parallel", "rows"), [(1, 3), (1, 64), (3, 3), (3, 7), (3, 64), (7, 7), (7, 64)]
)
def test_each_is_answered_as_if_it_were_alone(parallel: int, rows: int) -> None:
    setup = Setup(parallel=parallel, rows=rows)
    requests = [
        setup.greedy(prompt, max_tokens=4 + 9 * (place % 3), stops=["step", "wait"])
        for place, prompt in enumerate(PROMPTS)
    ]
    told = setup.told(*requests)
    finishes = {place: event for place, event in told if isinstance(event, Finish)}
    assert sorted(finishes) == list(range(len(PROMPTS)))
    for place, request in enumerate(requests):
        text, finish = alone(setup, request)
        ended = finishes[place]
        assert texts(told)[place] == text
        assert (ended.reason, ended.stop) == (finish.reason, finish.stop)
        assert ended.completion_tokens == finish.completion_tokens
        assert ended.prompt_tokens == len(request.prompt)


def test_the_last_event_of_each_is_its_only_finish() -> None:
    setup = Setup()
    told = setup.told(*(setup.saying(b"ab" * (place + 1)) for place in range(5)))
    for place in range(5):
        events = [event for one, event in told if one == place]
        assert [isinstance(event, Finish) for event in events].count(True) == 1
        assert isinstance(events[-1], Finish)
        indexes = [event.index for event in events if isinstance(event, Token)]
        assert indexes == list(range(2 * (place + 1)))


def test_who_has_finished_is_replaced_before_the_next_pass() -> None:
    setup = Setup(parallel=2)
    finishes = setup.finishes(
        setup.saying(b"aaaaaa", max_tokens=6),
        setup.saying(b"bb", max_tokens=2),
        setup.saying(b"cc", max_tokens=2),
        setup.saying(b"dd", max_tokens=2),
    )
    assert list(finishes) == [1, 2, 0, 3] or list(finishes) == [1, 2, 3, 0]
    assert setup.model.passes == [[1, 1]] * 6


def test_the_end_frees_every_sequence() -> None:
    setup = Setup(shared=list(b"The "))
    setup.told(*(setup.saying(b"x", prompt=f"The {number}") for number in range(4)))
    assert setup.model.open == 0


def test_a_shared_beginning_is_read_once() -> None:
    shared = "One and the same beginning. "
    setup = Setup(parallel=2, shared=list(shared.encode()))
    told = setup.told(*(setup.saying(b"x", prompt=shared + tail) for tail in ("a", "bb", "ccc")))
    read = sum(map(sum, setup.model.passes)) - 3  # each x is decoded, once
    assert read == len(shared) + 6
    cached = [event.cached_tokens for _, event in told if isinstance(event, Finish)]
    assert cached == [len(shared)] * 3


def test_a_memory_that_cannot_be_cut_has_the_shared_beginning_from_the_root() -> None:
    shared = "One and the same beginning. "
    setup = Setup(parallel=2, shared=list(shared.encode()), root=True)
    setup.model.cuttable = False
    finishes = setup.finishes(*(setup.saying(b"x", prompt=shared + tail) for tail in "abcde"))
    assert sum(map(sum, setup.model.passes)) - 5 == len(shared) + 5
    assert {one.cached_tokens for one in finishes.values()} == {len(shared)}
    assert setup.model.open == 0


def test_who_comes_next_keeps_what_both_begin_with() -> None:
    """Beyond what all share, of which there may be nothing."""
    setup = Setup(parallel=1, shared=list(b"The "))
    finishes = setup.finishes(*(setup.saying(b"x", prompt=p) for p in ("The sea", "Then", "The s")))
    assert [finishes[place].cached_tokens for place in range(3)] == [4, 3, 3]


def test_at_the_end_those_who_are_left_close_ranks_where_memories_are_apart() -> None:
    texts = [b"a" * 2, b"b" * 9, b"c" * 3, b"d" * 9, b"e" * 9]
    for apart, last in ((True, [0, 1, 2]), (False, [1, 3, 4])):
        setup = Setup(parallel=5, apart=apart)
        told = setup.told(*(setup.saying(text, max_tokens=20) for text in texts))
        assert setup.model.sequences[0] == [0, 1, 2, 3, 4]
        assert setup.model.sequences[-1] == last
        said = {
            place: event.completion_tokens for place, event in told if isinstance(event, Finish)
        }
        assert said == dict(enumerate(map(len, texts)))


def test_who_does_not_begin_like_the_others_reads_all_of_it() -> None:
    setup = Setup(shared=list(b"The sea "))
    finishes = setup.finishes(
        setup.saying(b"x", prompt="The sea is"), setup.saying(b"x", prompt="Mountains")
    )
    assert [finishes[place].cached_tokens for place in (0, 1)] == [8, 0]


def test_who_speaks_has_a_token_in_every_pass_while_a_long_prompt_is_read() -> None:
    setup = Setup(parallel=2, rows=8)
    setup.told(
        setup.saying(b"a" * 12, max_tokens=12), setup.saying(b"b", prompt="p" * 50, max_tokens=1)
    )
    assert setup.model.passes == [[1, 7], *[[1, 7]] * 6, [1, 1], *[[1]] * 4]


def test_of_two_prompts_that_wait_the_first_one_is_read_first() -> None:
    setup = Setup(parallel=2, rows=8)
    told = setup.told(
        setup.saying(b"a", prompt="p" * 12, max_tokens=1),
        setup.saying(b"b", prompt="q" * 12, max_tokens=1),
    )
    assert setup.model.passes == [[8], [4, 4], [8]]
    assert [place for place, event in told if isinstance(event, Token)] == [0, 1]


def test_no_more_begin_than_there_is_room_for() -> None:
    setup = Setup(parallel=3, capacity=30)
    requests = [setup.saying(b"x" * 9, prompt="p" * 5, max_tokens=9) for _ in range(3)]
    setup.told(*requests)
    assert max(map(len, setup.model.passes)) == 2  # of 14 tokens each


def test_what_is_shared_counts_once_in_the_room_there_is() -> None:
    setup = Setup(parallel=3, capacity=40, shared=[65] * 20)
    requests = [setup.saying(b"x", prompt="A" * 20 + "b", max_tokens=5) for _ in range(3)]
    setup.told(*requests)
    assert max(map(len, setup.model.passes)) == 3  # 20 and three times 6


def test_alone_everyone_is_let_in() -> None:
    setup = Setup(capacity=1)
    assert setup.finishes(setup.saying(b"ab"))[0].reason is FinishReason.EOS


def test_why_it_ends() -> None:
    setup = Setup(parallel=4)
    finishes = setup.finishes(
        setup.saying(b"end"),
        setup.saying(b"one two", stops=["e t"]),
        setup.saying(b"abcdef", max_tokens=3),
        setup.saying(b"abcdef", prompt="pp", context_size=6),
    )
    ends = [(finishes[place].reason, finishes[place].completion_tokens) for place in range(4)]
    assert ends == [
        (FinishReason.EOS, 3),
        (FinishReason.STOP, 5),
        (FinishReason.LENGTH, 3),
        (FinishReason.CONTEXT, 4),
    ]


def test_no_tokens_are_asked_for() -> None:
    setup = Setup()
    finishes = setup.finishes(setup.saying(b"x", max_tokens=0), setup.saying(b"x", max_tokens=1))
    assert [finishes[place].reason for place in (0, 1)] == [FinishReason.LENGTH] * 2
    assert finishes[0].completion_tokens == 0
    assert setup.model.passes == [[1]]


def test_time_is_counted_from_when_its_turn_comes() -> None:
    setup = Setup(parallel=1)
    finishes = setup.finishes(
        setup.saying(b"a" * 9, max_tokens=9),
        setup.saying(b"b" * 9, timeout=4),
        setup.saying(b"c" * 3, timeout=4),
    )
    reasons = [finishes[place].reason for place in range(3)]
    assert reasons == [FinishReason.LENGTH, FinishReason.TIMEOUT, FinishReason.EOS]
    assert finishes[1].completion_tokens == 4


def test_the_time_for_the_first_token_is_that_of_reading() -> None:
    setup = Setup(parallel=1, rows=4)
    finishes = setup.finishes(
        setup.saying(b"a" * 9, prompt="p" * 20, first_token_timeout=3),
        setup.saying(b"b" * 9, prompt="q" * 8, first_token_timeout=3),
    )
    assert finishes[0].reason is FinishReason.TIMEOUT
    assert finishes[0].completion_tokens == 0
    assert finishes[1].reason is FinishReason.EOS


def test_logits_that_are_no_numbers_end_their_own_request_alone() -> None:
    setup = Setup(parallel=2)
    bad = Request(prompt=[65], sampler=Broken(b"ab"), context_size=4096)
    finishes = setup.finishes(bad, setup.saying(b"four"))
    assert (finishes[0].reason, str(finishes[0].error)) == (FinishReason.ERROR, "not a number")
    assert (finishes[1].reason, finishes[1].completion_tokens) == (FinishReason.EOS, 4)


def test_an_abort_ends_all_that_are_under_way_and_nobody_else() -> None:
    setup = Setup(parallel=2)

    def interrupt(number: int) -> None:
        if number == 3:
            setup.abort.trip(FinishReason.INTERRUPTED)

    setup.model.before_pass = interrupt
    finishes = setup.finishes(*(setup.saying(b"abcdef") for _ in range(4)))
    assert {place: one.reason for place, one in finishes.items()} == {
        0: FinishReason.INTERRUPTED,
        1: FinishReason.INTERRUPTED,
    }
    assert [finishes[place].completion_tokens for place in (0, 1)] == [3, 3]
    assert setup.model.open == 0


def test_a_failing_engine_ends_all_and_is_an_error() -> None:
    setup = Setup(parallel=2)

    def fail(number: int) -> None:
        if number == 2:
            raise EngineError("out of order")

    setup.model.before_pass = fail
    reasons: list[FinishReason] = []
    with pytest.raises(EngineError, match="out of order"):
        for _, event in batched(setup.batch, iter([setup.saying(b"abcd")] * 2)):
            if isinstance(event, Finish):
                reasons.append(event.reason)
    assert reasons == [FinishReason.ERROR] * 2


def test_requests_are_taken_when_there_is_a_sequence_for_them() -> None:
    setup = Setup(parallel=2)
    taken: list[int] = []

    def requests() -> Iterator[Request]:
        for number in range(6):
            taken.append(number)
            yield setup.saying(b"abc")

    run = batched(setup.batch, requests())
    place, event = next(one for one in run if isinstance(one.event, Finish))
    assert (place, taken) == (0, [0, 1, 2])  # one more than run, to know whether it fits
    run.close()
    assert setup.model.open == 0


def test_nothing_asked_is_nothing_done() -> None:
    setup = Setup(shared=[65])
    assert setup.told() == []
    assert setup.model.passes == []
