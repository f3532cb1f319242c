"""What goes when a context is full: as little as can be, but enough for the turns to come."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.generation.context_policy import Fit, fit, reserve_for
from nextok.generation.conversation import Conversation
from nextok.generation.errors import ContextError
from nextok.generation.loop import shared_prefix
from nextok.generation.message import Message


def rendered(messages: Sequence[Message]) -> list[str]:
    """One token a word, two at each end of a message, and two for the head of the reply."""
    turns = [
        [f"<|{one.role}|>", "\n", *one.content.split(" "), "<|end|>", "\n"] for one in messages
    ]
    return [*itertools.chain(*turns), "<|assistant|>", "\n"]


class Count:
    """Counts, and is counted."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, messages: Sequence[Message]) -> int:
        self.calls += 1
        return len(rendered(messages))


def talk(*words: int, system: int | None = None) -> list[Message]:
    """Messages of so many words, user and assistant by turns."""
    roles = ("user", "assistant")
    turns = [Message(roles[index % 2], "w " * (size - 1) + "w") for index, size in enumerate(words)]
    return turns if system is None else [Message("system", "s " * (system - 1) + "s"), *turns]


def test_all_fits() -> None:
    count = Count()
    messages = talk(16, 16, 16, system=16)  # 82
    found = fit(messages, count=count, context_size=182, reserve=100)
    assert found == Fit(first=1, dropped_messages=0, dropped_tokens=0, tokens=82)
    assert count.calls == 1
    assert fit(messages[1:], count=count, context_size=182, reserve=100).first == 0


def test_the_oldest_turns_go_until_the_target_is_reached() -> None:
    messages = talk(*[6] * 21, system=6)  # 222
    found = fit(messages, count=Count(), context_size=200, reserve=50)
    # 120 is 60 %: the system message, 9 of 21 messages and the head of the reply are 102.
    assert found == Fit(first=13, dropped_messages=12, dropped_tokens=120, tokens=102)
    found = fit(messages, count=Count(), context_size=200, reserve=50, target=0.5)
    assert found == Fit(first=15, dropped_messages=14, dropped_tokens=140, tokens=82)


def test_a_large_reserve_lowers_the_target() -> None:
    messages = talk(*[6] * 21, system=6)
    found = fit(messages, count=Count(), context_size=200, reserve=100)
    # Not 120, nor the 100 that are left, which the next turn would exceed again: 70.
    assert found == Fit(first=17, dropped_messages=16, dropped_tokens=160, tokens=62)


def test_one_token_too_many_is_too_many() -> None:
    messages = talk(*[6] * 9)  # 92
    assert fit(messages, count=Count(), context_size=142, reserve=50).dropped_messages == 0
    assert fit(messages, count=Count(), context_size=141, reserve=50).dropped_messages > 0


def test_no_reserve_still_leaves_room_for_one_token() -> None:
    messages = talk(*[6] * 9)
    assert fit(messages, count=Count(), context_size=93, reserve=0).dropped_messages == 0
    assert fit(messages, count=Count(), context_size=92, reserve=0).dropped_messages > 0


def test_the_current_message_stays_though_it_leaves_no_reserve() -> None:
    messages = talk(6, 6, 180, system=6)
    found = fit(messages, count=Count(), context_size=200, reserve=50)
    assert (found.first, found.tokens) == (3, 196)
    alone = fit(messages[-1:], count=Count(), context_size=200, reserve=50)
    assert alone == Fit(first=0, dropped_messages=0, dropped_tokens=0, tokens=186)


@pytest.mark.parametrize("messages", [talk(6, 6, 300), talk(300), talk(6, 6, 6, system=300)])
def test_a_message_that_fills_the_context_is_refused(messages: list[Message]) -> None:
    kept = [one for one in messages if one.role == "system"] + messages[-1:]
    with pytest.raises(ContextError) as caught:
        fit(messages, count=Count(), context_size=len(rendered(kept)), reserve=50)
    size = len(rendered(kept))
    assert str(caught.value) == (
        f"without any older message the prompt has {size} tokens and the context holds {size}, "
        "answer included: shorten it or raise --ctx-size"
    )


def test_a_reply_that_goes_on_stays_with_its_question() -> None:
    messages = talk(*[6] * 20)
    found = fit(messages, count=Count(), context_size=100, reserve=90)
    assert (found.first, found.tokens) == (18, 22)


def test_a_conversation_that_opens_with_a_reply() -> None:
    messages = [Message("assistant", "hello"), *talk(6, 6, 30)]
    found = fit(messages, count=Count(), context_size=60, reserve=10)
    assert found == Fit(first=3, dropped_messages=3, dropped_tokens=25, tokens=36)


def test_few_renderings_are_enough() -> None:
    count = Count()
    fit(talk(*[6] * 2001, system=6), count=count, context_size=8192, reserve=2048)
    assert count.calls <= 12


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=40).filter(lambda sizes: len(sizes) % 2),
    st.none() | st.integers(1, 60),
    st.integers(20, 600),
    st.integers(0, 300),
)
def test_what_stays(sizes: list[int], system: int | None, context: int, reserve: int) -> None:
    messages, lead = talk(*sizes, system=system), int(system is not None)
    try:
        found = fit(messages, count=Count(), context_size=context, reserve=reserve)
    except ContextError:
        assert len(rendered([*messages[:lead], messages[-1]])) >= context
        return
    kept = [*messages[:lead], *messages[found.first :]]
    assert kept[lead].role == "user" and kept[-1] is messages[-1]
    assert found.tokens == len(rendered(kept)) < context
    assert found.dropped_tokens == len(rendered(messages)) - found.tokens
    assert found.dropped_messages == len(messages) - len(kept)
    if found.dropped_messages:
        assert len(rendered(messages)) + reserve >= context
        assert len(kept) == lead + 1 or found.tokens <= 0.6 * context


def test_the_reserve() -> None:
    assert reserve_for(-1, 8192) == 2048
    assert reserve_for(100, 8192) == 100
    assert reserve_for(8000, 8192) == 4096
    assert reserve_for(0, 8192) == 0


@pytest.mark.parametrize("max_tokens", [-1, 60, 1000])
def test_forty_turns_mostly_read_only_what_is_new(max_tokens: int) -> None:
    """The cache holds the last prompt and its reply: what it shares with the next is not read."""
    context, words = 512, random.Random(1)
    reserve = reserve_for(max_tokens, context)
    conversation, cache = Conversation(), [""]
    conversation.set_system("Be brief and kind .")
    read, drops, whole = [], 0, 0
    for turn in range(40):
        conversation.say(" ".join(f"q{turn}.{word}" for word in range(30)))
        messages = conversation.messages()
        found = fit(messages, count=Count(), context_size=context, reserve=reserve)
        if found.dropped_messages:
            drops += 1
            conversation.drop_before(conversation.window()[found.dropped_messages].id)
        prompt = rendered(conversation.messages())
        assert len(prompt) == found.tokens
        whole += len(prompt)
        read.append(len(prompt) - shared_prefix(cache, prompt))
        reply = [f"a{turn}.{word}" for word in range(words.randrange(10, 80))]
        cache = [*prompt, *reply]
        assert len(cache) < context
        conversation.reply(" ".join(reply))
    # The end of the last reply, the message with its marks, the head of the reply to come.
    assert read.count(2 + 34 + 2) == 40 - 1 - drops
    assert drops < 20
    assert sum(read) < whole / 2
