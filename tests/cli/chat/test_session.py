"""A chat's replies are those of a fresh process, whatever happened before: the real engine."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.chat.command import make_session
from nextok.cli.chat.session import Session
from nextok.cli.config_file import read_config
from nextok.cli.console import Console
from nextok.cli.invocation import Invocation
from nextok.cli.report import Outcome, RunFacts
from nextok.cli.resolution import resolve
from nextok.cli.start import Start
from nextok.generation.errors import ContextError, UsageError
from nextok.generation.events import Event, Prefill, Token
from nextok.generation.finish import FinishReason
from nextok.generation.message import Message
from nextok.generation.reasoning import Span

EXACT = {"threads": 1, "batch_size": 32, "ubatch_size": 32, "flash_attn": "on", "temperature": 0.0}
"""With these, and a Q4_1 model, a token comes out the same from a cache and alone."""

Chat = Callable[..., Session]


class Heard:
    """An answer that listens, and may interrupt after some tokens."""

    def __init__(self, session: Session, stop_after: int | None = None) -> None:
        self.events: list[Event] = []
        self._session = session
        self._stop_after = stop_after

    def start(self, facts: RunFacts, origin: float) -> None: ...

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        self.events.append(event)
        if isinstance(event, Token) and event.index + 1 == self._stop_after:
            self._session.stage.abort.trip(FinishReason.INTERRUPTED)

    def finish(self, facts: RunFacts, outcome: Outcome) -> None: ...

    def fail(self, message: str, code: int) -> None: ...

    @property
    def read(self) -> int:
        """How many tokens of the prompt were read, not taken from the cache."""
        prefills = [event for event in self.events if isinstance(event, Prefill)]
        return prefills[-1].total - prefills[-1].cached


@pytest.fixture
def chat() -> Iterator[Chat]:
    """`chat(model, max_tokens=…)`: a session with a loaded model."""
    made: list[Session] = []

    def make(model: Path | str, **values: Any) -> Session:
        given = {"model": str(model), **EXACT, **values}
        session = make_session(
            Invocation(
                command="chat",
                words=(),
                resolved=resolve("chat", given, {}, read_config(os.devnull)),
                start=Start(at=0.0),
                console=Console(stream=None, terminal=False, color=False),
                environ={},
            ),
            None,
        )
        session.load()
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


def fresh(session: Session, chat: Chat, model: Path, **values: Any) -> str:
    """What another process says to the same messages."""
    other = chat(model, save=False, **values)
    conversation = session.conversation
    other.conversation.set_system(conversation.system)
    *before, last = conversation.window()[:-1]
    for entry in before:
        if entry.role == "user":
            other.conversation.say(entry.content)
        else:
            other.conversation.reply(entry.content, reasoning="", finish="eos")
    return other.say(last.content, []).outcome.text


def test_a_turn_reads_only_what_is_new(chat: Chat, starter_gguf: Path) -> None:
    session = chat(starter_gguf, max_tokens=8)
    first, second = Heard(session), Heard(session)
    session.say("Name a colour.", [first])
    before = len(session.engine.cache.tokens)
    session.say("Another.", [second])
    assert first.read > 20
    assert second.read < 20
    assert len(session.engine.cache.tokens) > before


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["starter_gguf", "recurrent_gguf", "hybrid_gguf", "sliding_gguf"])
def test_any_turn_is_that_of_a_fresh_process(
    chat: Chat, request: pytest.FixtureRequest, kind: str, seed: int
) -> None:
    """Whatever went before: other replies, undone ones, edits, interrupts, failures, branches.

    Also where the memory is a state that cannot be cut, or slides.
    """
    model = request.getfixturevalue(kind)
    options = {"max_tokens": 6, "ctx_size": 512}
    session = chat(model, **options)
    session.conversation.set_system("You answer briefly.")
    dice = random.Random(seed)
    session.say("Tell me about the sea.", [])
    steps: dict[str, Callable[[], object]] = {
        "say": lambda: session.say(dice.choice(["Why?", "Go on.", "And the moon?"]), []),
        "again": lambda: session.again([]),
        "undo": lambda: session.conversation.undo(),
        "edit": lambda: session.edit("Tell me about rivers.", []),
        "interrupt": lambda: session.say("A long story.", [Heard(session, stop_after=3)]),
        "continue": lambda: session.go_on([]),
        "fail": lambda: session.say("word " * 600, []),
        "branch": lambda: session.conversation.branch(),
        "switch": lambda: session.conversation.switch(
            dice.choice(session.conversation.branches()).name
        ),
    }
    for _ in range(6):
        name = dice.choice([*steps])
        try:
            steps[name]()
        except (ContextError, UsageError):
            continue
    turn = session.say("What is a lake?", [])
    assert turn.outcome.text == fresh(session, chat, model, **options)


def test_a_turn_that_fails_leaves_no_trace(chat: Chat, starter_gguf: Path) -> None:
    session = chat(starter_gguf, max_tokens=4, ctx_size=256)
    session.say("Hello.", [])
    before = session.conversation.messages()
    with pytest.raises(ContextError, match=r"3\d\d tokens and the context holds 256"):
        session.say("word " * 300, [])
    assert session.conversation.messages() == before


@pytest.mark.parametrize("words", [300, 300_000], ids=["too long", "out of all proportion"])
def test_an_edit_that_fails_leaves_what_was_said(chat: Chat, emoji_gguf: Path, words: int) -> None:
    session = chat(emoji_gguf, ctx_size=256)
    session.say("Hello.", [])
    before = session.conversation.messages()
    assert len(before) == 2
    with pytest.raises(ContextError, match="the context holds 256"):
        session.edit("word " * words, [])
    assert session.conversation.messages() == before


def test_an_interrupt_before_the_first_word_takes_the_message_back(
    chat: Chat, starter_gguf: Path
) -> None:
    session = chat(starter_gguf, max_tokens=4)

    class Early(Heard):
        def event(self, event: Event, spans: Sequence[Span]) -> None:
            session.stage.abort.trip(FinishReason.INTERRUPTED)

    turn = session.say("Hello.", [Early(session)])
    assert turn.outcome.finish.reason is FinishReason.INTERRUPTED
    assert not turn.kept
    assert session.conversation.messages() == []


def test_an_interrupted_reply_is_kept_and_goes_on(chat: Chat, loop_gguf: Path) -> None:
    session = chat(loop_gguf, max_tokens=6)
    turn = session.say("sing", [Heard(session, stop_after=3)])
    assert (turn.outcome.text, turn.kept) == ("la li la ", True)
    assert session.conversation.entries()[-1].finish == "interrupted"
    session.go_on([])
    assert session.conversation.messages()[-1] == Message(
        "assistant", "la li la li la li la li la "
    )
    assert session.conversation.entries()[-1].finish == "length"


def test_only_a_reply_that_was_cut_goes_on(chat: Chat, emoji_gguf: Path) -> None:
    session = chat(emoji_gguf)
    with pytest.raises(UsageError, match="nothing to continue"):
        session.go_on([])
    session.say("hi", [])
    with pytest.raises(UsageError, match="nothing to continue"):
        session.go_on([])


def test_forty_turns_through_a_small_context(chat: Chat, loop_gguf: Path) -> None:
    """The oldest pairs go at once, the system message stays, most turns read only what is new."""
    session = chat(loop_gguf, max_tokens=8, ctx_size=512)
    session.conversation.set_system("be brief")
    read = []
    for number in range(40):
        heard = Heard(session)
        session.say(f"message {number}", [heard])
        read.append(heard.read)
        messages = session.conversation.messages()
        assert [one.role for one in messages[:2]] == ["system", "user"]
        assert len(session.engine.cache.tokens) <= 512 - 1
    assert len(session.conversation.entries()) == 80
    whole = [tokens for tokens in read if tokens > 150]
    assert 0 < len(whole) <= 10
    assert all(tokens < 50 for tokens in read if tokens not in whole)


def test_a_full_context_may_stop_instead(chat: Chat, loop_gguf: Path) -> None:
    session = chat(loop_gguf, max_tokens=60, ctx_size=256, on_full="stop")
    with pytest.raises(ContextError, match="/clear begins anew"):
        for _ in range(9):
            session.say("word " * 20, [])
    assert session.conversation.entries()[-1].role == "assistant"


def test_a_full_context_may_slide(chat: Chat, loop_gguf: Path) -> None:
    session = chat(loop_gguf, max_tokens=700, ctx_size=256, on_full="shift")
    turn = session.say("sing", [])
    assert turn.outcome.finish.reason is FinishReason.LENGTH
    assert turn.outcome.text == "la li " * 350


def test_a_reply_cut_by_the_context_goes_on_when_something_can_go(
    chat: Chat, loop_gguf: Path
) -> None:
    session = chat(loop_gguf, max_tokens=40, ctx_size=256)
    for _ in range(3):
        session.say("word " * 8, [])
    session.resolved = session.resolved.with_set({"max_tokens": -1})
    turn = session.say("sing", [])
    assert turn.outcome.finish.reason is FinishReason.CONTEXT
    said = session.conversation.entries()[-1].content
    session.resolved = session.resolved.with_set({"max_tokens": 10})
    session.go_on([])
    assert session.conversation.entries()[-1].content == said + "la li " * 5
    assert len(session.conversation.window()) < len(session.conversation.entries())


@pytest.mark.parametrize("mode", ["drop", "stop"])
def test_more_than_a_template_can_be_given_goes_on(chat: Chat, emoji_gguf: Path, mode: str) -> None:
    """The oldest of it is dropped before anything is rendered."""
    session = chat(emoji_gguf, ctx_size=512, on_full=mode)
    for number in range(9):
        session.conversation.say(f"message {number} " + "x" * 1_000_000)
        session.conversation.reply("yes", finish="eos")
    session.conversation.say("and briefly?")
    session.conversation.reply("yes", finish="eos")
    if mode == "stop":
        with pytest.raises(ContextError, match=r"tokens and the context holds 512: /clear"):
            session.say("hello", [])
        return
    assert session.say("hello", []).kept
    assert [one.content for one in session.conversation.window()[::2]] == ["and briefly?", "hello"]
    assert len(session.conversation.entries()) == 22


def test_a_chat_is_resumed_from_its_state(chat: Chat, starter_gguf: Path) -> None:
    session = chat(starter_gguf, max_tokens=6)
    session.say("Tell me about the sea. " * 20, [])
    session.close()
    taken_up = chat(starter_gguf, max_tokens=6, continue_last=True)
    heard = Heard(taken_up)
    turn = taken_up.say("Why?", [heard])
    assert heard.read < 30
    assert turn.outcome.text == fresh(taken_up, chat, starter_gguf, max_tokens=6)


def test_a_state_of_other_settings_is_not_used(chat: Chat, starter_gguf: Path) -> None:
    session = chat(starter_gguf, max_tokens=6)
    session.say("Tell me about the sea. " * 20, [])
    session.close()
    taken_up = chat(starter_gguf, max_tokens=6, continue_last=True, cache_type_k="q8_0")
    heard = Heard(taken_up)
    taken_up.say("Why?", [heard])
    assert heard.read > 100
