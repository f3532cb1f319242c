"""A chat that grows past its context: it goes on, and says what is no longer read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Talk = Callable[..., Any]
Build = Callable[..., Path]

REPLY = "Hi 😀 bye"
DROPPED = re.compile(
    r"the context is full: the oldest (\d+) messages, ([\d,]+) tokens, are no longer read"
)


def thirty_words(turn: int) -> str:
    return " ".join(f"w{turn:02}{number:02}" for number in range(30))


@pytest.mark.slow
def test_forty_turns_of_thirty_words_in_a_small_context(talk: Talk, emoji_gguf: Path) -> None:
    """Each message has 179 tokens of the 512; a quarter of them is kept free for the reply."""
    chat = talk(emoji_gguf, "-c", "512", "-sys", "be brief")
    drops = 0
    for turn in range(40):
        said = chat.say(thirty_words(turn))
        shown = " ".join(said)
        drops += len(DROPPED.findall(shown))
        assert len(DROPPED.findall(shown)) <= 1
        assert REPLY in said
    assert drops > 10
    entries = chat.saved().entries()
    assert [one.content for one in entries[::2]] == [thirty_words(turn) for turn in range(40)]
    assert {one.finish for one in entries[1::2]} == {"eos"}
    prompts = [one.figures["prompt_tokens"] for one in entries[1::2]]
    assert max(prompts) <= 512 - 512 // 4
    prompt = "".join(chat.say("/show prompt"))
    assert prompt.startswith("<s><|sys|>be brief<|end|><|user|>w") and "w3900" in prompt
    assert chat.leave() == 0


def test_a_reply_that_fills_the_context_goes_on(talk: Talk, loop_gguf: Path) -> None:
    chat = talk(loop_gguf, "-c", "256")
    chat.say("/set max-tokens 10")
    chat.say("first")
    chat.say("/set max-tokens -1")
    said = chat.say("second")
    assert "the context is full · /continue makes room and goes on" in said
    assert "no longer read" not in " ".join(said)
    reply = chat.saved().entries()[-1]
    assert reply.finish == "context"
    said = chat.say("/continue")
    (dropped,) = DROPPED.findall(" ".join(said))
    assert int(dropped[0]) == 2 and int(dropped[1]) > 0
    longer = chat.saved().entries()[-1]
    words = longer.content.split()
    assert longer.content.startswith(reply.content) and len(longer.content) > len(reply.content)
    assert words == ["li" if number % 2 else "la" for number in range(len(words))]


def test_a_message_that_no_context_holds_is_refused(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, "-c", "256", columns=120)
    chat.say("hello")
    for length in (300, 30_000):
        chat.paste("x" * length)
        chat.key("enter")
        chat.wait_for_prompt()
        chat.wait_for("error: ")
        trouble = " ".join(chat.lines()).partition("error: ")[2]
        assert "256" in trouble and re.search(r"\d{3,} tokens", trouble)
        assert chat.messages() == ["hello", REPLY]
        assert chat.say("/regen")[0] == REPLY


@pytest.mark.parametrize("mode", ["stop", "shift"])
def test_other_rules_for_a_full_context(talk: Talk, loop_gguf: Path, mode: str) -> None:
    chat = talk(loop_gguf, "-c", "256", "--on-full", mode, "-n", "300")
    said = chat.say("hello")
    if mode == "stop":
        full = "the context is full · /clear begins anew, a larger --ctx-size holds more"
        assert full in said
        trouble = " ".join(chat.say("again"))
        assert re.match(
            r"error: the conversation has \d+ tokens and the context holds 256", trouble
        )
        assert chat.messages()[0::2] == ["hello"]
    else:
        assert "stopped after 300 tokens (--max-tokens) · /continue goes on" in said
        words = chat.messages()[-1].split()
        assert words == ["li" if number % 2 else "la" for number in range(300)]
    assert chat.leave() == 0


def test_a_reply_longer_than_a_context_that_slides_goes_on(talk: Talk, loop_gguf: Path) -> None:
    """From what the cache holds; the bar shows that, too."""
    chat = talk(loop_gguf, "-c", "128", "--on-full", "shift", "-n", "300")
    chat.say("hello")
    chat.say("/set max-tokens 5")
    said = chat.say("/continue")
    cached, new = map(int, re.match(r"(\d+) cached \+ (\d+) new → 5 tokens", said[-1]).groups())
    assert cached > 30 and new <= 2
    words = chat.messages()[-1].split()
    assert words == ["li" if number % 2 else "la" for number in range(305)]
    used = int(re.search(r"(\d+)/128", chat.lines()[-1])[1])
    assert cached < used <= 128
    said = chat.say("/continue")
    assert len(chat.messages()[-1].split()) == 310
    assert chat.say("hello again")[-1].endswith("tokens/s")


def test_the_bar_of_a_reply_that_has_slid(talk: Talk, loop_gguf: Path) -> None:
    chat = talk(loop_gguf, "-c", "128", "--on-full", "shift", "-n", "300")
    chat.say("hello")
    assert 64 <= int(re.search(r"(\d+)/128", chat.lines()[-1])[1]) <= 128


def test_a_first_reply_that_fills_the_context_cannot_go_on(talk: Talk, loop_gguf: Path) -> None:
    chat = talk(loop_gguf, "-c", "128", columns=120)
    chat.say("/set n 5")
    chat.say("hello")
    chat.say("/set n -1")
    said = chat.say("/continue")
    assert "the context is full · /clear begins anew, a larger --ctx-size holds more" in said
    assert " ".join(chat.say("/continue")) == (
        "error: the last message and its reply alone fill the context of 128 tokens: "
        "/clear begins anew, a larger --ctx-size holds more"
    )
