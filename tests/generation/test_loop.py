"""The loop on the toy backend: what ends it, what it costs, what the cache holds afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from nextok.backends.options import ContextOptions
from nextok.backends.toy import END, Toy, ToyModel
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import ContextError, EngineError
from nextok.generation.events import Event, Finish, Prefill, Step, Token
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, plain_steps, shared_prefix
from nextok.generation.model import Cache, Logits
from nextok.generation.stream import generate

PROMPT = "The prompt"


class Scripted:
    """A sampler that says what it is told to."""

    def __init__(self, text: bytes | list[int]) -> None:
        self._tokens = itertools.chain(text, itertools.repeat(END))

    def sample(self, logits: Logits) -> int:
        return next(self._tokens)

    def accept(self, token: int) -> None: ...

    def reset(self) -> None: ...


class Counting(ToyModel):
    """Counts the tokens of every pass."""

    def __init__(self, options: ContextOptions, abort: Abort) -> None:
        super().__init__(options, abort)
        self.passes: list[int] = []

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Sequence[float]:
        self.passes.append(len(tokens))
        return super().prefill(tokens, cache)


class Setup:
    """One job on the toy and all that belongs to it."""

    def __init__(
        self,
        said: bytes | list[int],
        *,
        max_tokens: int = -1,
        context: int = 4096,
        batch: int = 512,
    ) -> None:
        self.abort = Abort()
        self.toy = Toy()
        options = ContextOptions(context_size=context, batch_size=batch)
        self.model = Counting(options, self.abort)
        self.cache = self.model.new_cache()
        self.prompt = self.toy.tokenizer.encode(PROMPT)
        self.ticks = itertools.count()
        self.job = Job(
            model=self.model,
            cache=self.cache,
            sampler=Scripted(said),
            prompt=self.prompt,
            is_end=self.toy.tokenizer.is_end,
            clock=lambda: float(next(self.ticks)),
            max_tokens=max_tokens,
        )

    def events(self, *stops: str, each: Callable[[Event], None] = lambda event: None) -> str:
        text = ""
        for event in generate(
            self.job, self.toy.tokenizer.piece, stops=stops, abort=self.abort, origin=0.0
        ):
            if not isinstance(event, Prefill):
                text += event.text
            each(event)
            if isinstance(event, Finish):
                self.finish = event
        return text


def test_it_ends_with_the_end_token_and_does_not_show_it() -> None:
    setup = Setup(b"hello")
    assert setup.events() == "hello"
    assert setup.finish.reason is FinishReason.EOS
    assert (setup.finish.prompt_tokens, setup.finish.completion_tokens) == (10, 5)


def test_max_tokens_is_exact() -> None:
    setup = Setup(b"hello", max_tokens=3)
    assert setup.events() == "hel"
    assert setup.finish.reason is FinishReason.LENGTH


def test_max_tokens_is_exact_inside_a_character() -> None:
    setup = Setup("é😀".encode(), max_tokens=4)
    assert setup.events() == "é"
    assert setup.finish.completion_tokens == 4


def test_zero_tokens_reads_nothing_but_checks_the_prompt() -> None:
    setup = Setup(b"x", max_tokens=0)
    assert setup.events() == ""
    assert setup.finish.reason is FinishReason.LENGTH
    assert setup.model.passes == []
    with pytest.raises(ContextError, match="10 tokens and the context holds 10"):
        Setup(b"x", max_tokens=0, context=10).events()


def test_a_prompt_one_token_short_of_the_context_gives_one_token() -> None:
    setup = Setup(b"xyz", context=11)
    assert setup.events() == "x"
    assert setup.finish.reason is FinishReason.CONTEXT


@pytest.mark.parametrize("batch", [1, 3, 10, 512])
def test_each_token_costs_one_pass_of_one_token(batch: int) -> None:
    setup = Setup(b"hello", batch=batch)
    setup.events()
    whole, rest = divmod(10, batch)
    assert setup.model.passes == [batch] * whole + [rest] * bool(rest) + [1] * 5


def test_nothing_is_decoded_after_the_last_token() -> None:
    setup = Setup(b"hello", max_tokens=5)
    setup.events()
    assert setup.model.passes == [10, 1, 1, 1, 1]
    setup = Setup(b"one. two")
    assert setup.events(".") == "one"
    assert setup.model.passes == [10, 1, 1, 1]


def test_prefill_says_how_far_it_is() -> None:
    setup = Setup(b"", batch=4)
    seen: list[Event] = []
    setup.events(each=seen.append)
    assert seen[:-1] == [
        Prefill(0, 10, 0),
        Prefill(4, 10, 0),
        Prefill(8, 10, 0),
        Prefill(10, 10, 0),
    ]


def test_a_shared_prefix_is_not_read_again() -> None:
    setup = Setup(b"ab")
    setup.cache.tokens.extend([*setup.prompt[:6], 1, 2, 3])  # type: ignore[attr-defined]
    setup.events()
    assert setup.finish.cached_tokens == 6
    assert setup.model.passes[0] == 4


def test_a_prompt_held_whole_is_decoded_from_its_last_token() -> None:
    setup = Setup(b"ab")
    setup.cache.tokens.extend(setup.prompt)  # type: ignore[attr-defined]
    setup.events()
    assert setup.finish.cached_tokens == 9
    assert setup.model.passes[0] == 1


def test_the_ledger_is_true_after_every_end() -> None:
    for stop_after in range(6):
        setup = Setup(b"hello world")
        stream = generate(setup.job, setup.toy.tokenizer.piece, abort=setup.abort, origin=0.0)
        tokens = [
            event.id
            for event in itertools.islice(stream, 2 + stop_after)
            if isinstance(event, Token)
        ]
        stream.close()
        # The last token was shown; it is decoded only when the next one is wanted.
        assert list(setup.cache.tokens) == [*setup.prompt, *tokens][: 10 + max(0, stop_after - 1)]


def test_the_abort_flag_ends_it_with_its_reason() -> None:
    setup = Setup(b"hello world")

    def trip(event: Event) -> None:
        if isinstance(event, Token) and event.index == 3:
            setup.abort.trip(FinishReason.DISCONNECTED)
            setup.abort.trip(FinishReason.TIMEOUT)

    assert setup.events(each=trip) == "hell"
    assert setup.finish.reason is FinishReason.DISCONNECTED


def test_the_abort_flag_ends_a_prefill() -> None:
    setup = Setup(b"x", batch=4)
    setup.events(each=lambda event: setup.abort.trip(FinishReason.INTERRUPTED))
    assert setup.finish.reason is FinishReason.INTERRUPTED
    assert setup.finish.completion_tokens == 0
    assert list(setup.cache.tokens) == []


def test_a_failing_engine_ends_it_after_what_was_said() -> None:
    class Broken(Scripted):
        def sample(self, logits: Logits) -> int:
            token = super().sample(logits)
            if token == END:
                raise EngineError("NaN")
            return token

    setup = Setup(b"")
    setup.job = setup.job._replace(sampler=Broken(b"so far<"))
    assert setup.events("<>") == "so far<"
    assert setup.finish.reason is FinishReason.ERROR
    assert str(setup.finish.error) == "NaN"


def test_a_stop_that_completes_with_the_last_token_allowed_is_a_stop() -> None:
    setup = Setup(b"a<>", max_tokens=3)
    assert setup.events("<>") == "a"
    assert (setup.finish.reason, setup.finish.stop) == (FinishReason.STOP, "<>")


def test_held_text_is_released_when_it_was_no_stop() -> None:
    setup = Setup(b"a<", max_tokens=2)
    assert setup.events("<>") == "a<"
    assert setup.finish.text == "<"


def test_times_are_those_of_the_clock() -> None:
    setup = Setup(b"abc")
    steps = [step for step in plain_steps(setup.job) if isinstance(step, Step)]
    assert [step.gap for step in steps] == [1.0, 1.0, 1.0]
    assert [later.at - earlier.at for earlier, later in itertools.pairwise(steps)] == [1.0, 1.0]


def test_an_aborted_model_raises_out_of_the_bare_loop() -> None:
    setup = Setup(b"abc")
    setup.abort.trip(FinishReason.TIMEOUT)
    with pytest.raises(Aborted):
        list(plain_steps(setup.job))


def test_shared_prefix() -> None:
    assert shared_prefix([], [1]) == 0
    assert shared_prefix([1, 2, 3], [1, 2, 4]) == 2
    assert shared_prefix([1, 2], [1, 2, 4]) == 2
    assert shared_prefix([1, 2, 4], [1, 2]) == 2
