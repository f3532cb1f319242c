"""Models that make trouble, and limits that end a reply: the chat goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Talk = Callable[..., Any]
Build = Callable[..., Path]

TAKEN_BACK = "your message was taken back: Up brings it here again"
QUESTION = (
    "this model's template takes no system message: put it at the head of your first message? [Y/n]"
)


@pytest.fixture
def no_system(scripted: Build) -> Path:
    """Its template refuses a system message."""
    template = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{{ bos_token }}{% for m in messages %}"
        "{{ '<|user|>' if m['role'] == 'user' else '<|go|>' }}{{ m['content'] }}<|end|>"
        "{% endfor %}{% if add_generation_prompt %}<|go|>{% endif %}"
    )
    return scripted(["fine"], stem="no-system", template=template)


def asked(chat: Any) -> None:
    chat.wait_until(lambda: " ".join(chat.lines()).endswith(QUESTION), "nothing is asked")


def test_a_system_message_that_the_template_refuses_is_folded(talk: Talk, no_system: Path) -> None:
    chat = talk(no_system, "-sys", "be brief", ready=False)
    asked(chat)
    chat.send("\r")
    chat.wait_for_prompt()
    chat.say("hello")
    assert chat.say("/show prompt") == ["<s><|user|>be brief", "", "hello<|end|><|go|>"]
    assert chat.leave() == 0
    assert not chat.left_behind()
    chat = talk(no_system, "-C")
    chat.say("more")
    assert "".join(chat.say("/show prompt")).startswith("<s><|user|>be briefhello<|end|>")


def test_or_it_is_left_out(talk: Talk, no_system: Path) -> None:
    chat = talk(no_system)
    for no in ("n\r", "\x04"):
        chat.send("/system be brief\r")
        asked(chat)
        chat.send(no)
        chat.wait_for_prompt()
        assert "the system message is left out (--fold-system)" in chat.lines()
        assert chat.say("/system") == ["no system message: /system TEXT sets one"]
    assert chat.say("hello")[0] == "fine"
    assert chat.leave() == 0
    assert not chat.left_behind()


def test_an_interrupt_at_the_question_is_no_consent(
    talk: Talk, no_system: Path, emoji_gguf: Path
) -> None:
    """A model that can be given the system message has it again."""
    chat = talk(no_system)
    chat.send("/system be brief\r")
    asked(chat)
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    assert "the system message is left out (--fold-system)" in chat.lines()
    chat.say("hello")
    assert chat.say("/show prompt") == ["<s><|user|>hello<|end|><|go|>"]
    assert "this model gets the system message" in chat.say(f"/model {emoji_gguf}")
    assert chat.say("/system") == ["be brief"]


def test_a_folded_system_message_is_one_again_for_another_model(
    talk: Talk, no_system: Path, emoji_gguf: Path
) -> None:
    chat = talk(no_system, "-sys", "be brief", ready=False)
    asked(chat)
    chat.send("\r")
    chat.wait_for_prompt()
    chat.say("hello")
    chat.say(f"/model {emoji_gguf}")
    prompt = "".join(chat.say("/show prompt"))
    assert prompt.startswith("<s><|sys|>be brief<|end|><|user|>hello<|end|>")
    chat.say(f"/model {no_system}")
    assert "".join(chat.say("/show prompt")).startswith("<s><|user|>be briefhello<|end|>")


def test_a_signal_at_the_question(talk: Talk, no_system: Path) -> None:
    chat = talk(no_system, "-sys", "be brief", ready=False)
    asked(chat)
    chat.signal(signal.SIGTERM)
    assert chat.wait() == -signal.SIGTERM
    assert not chat.left_behind()


@pytest.mark.parametrize(
    ("template", "trouble"),
    [
        ("{{ messages[0]", "error: the chat template is broken in line 1: "),
        ("{{ raise_exception('never') }}", "error: chat template, line 1: never"),
    ],
)
def test_a_broken_template_is_said_in_one_line(
    talk: Talk, scripted: Build, template: str, trouble: str
) -> None:
    chat = talk(scripted(["x"], stem="broken-template", template=template))
    for _ in range(2):
        said = " ".join(chat.say("hello"))
        assert said.startswith(trouble) and said.count("error") == 1
    assert chat.say("/branches")[0].startswith("  * main  0")
    assert chat.leave() == 0


def test_a_model_without_a_template_says_so(talk: Talk, no_template_gguf: Path) -> None:
    chat = talk(no_template_gguf)
    assert "has no chat template" in chat.lines()[0]
    assert chat.say("hello")[0] == "plain"


def test_a_reply_that_fails_leaves_the_conversation_as_it_was(
    talk: Talk, nan_gguf: Path, emoji_gguf: Path
) -> None:
    chat = talk(emoji_gguf)
    chat.say("first")
    before = chat.messages()
    chat.say(f"/model {nan_gguf}")
    for command, said in (("hello", TAKEN_BACK), ("/edit hello", TAKEN_BACK), ("/regen", "")):
        lines = chat.say(command)
        assert lines[0] == "one two"
        text = " ".join(lines)
        assert text.count("error: the model's logits are NaN or infinite") == 1
        assert text.endswith(said)
        assert (TAKEN_BACK in text) == bool(said)
        assert chat.messages() == before
    chat.say(f"/model {emoji_gguf}")
    chat.say("again")
    assert chat.messages() == [*before, "again", before[1]]
    assert chat.leave() == 0


def test_a_timeout_ends_the_turn_and_not_the_chat(talk: Talk, scripted: Build) -> None:
    model = scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)
    chat = talk(model, "-c", "0", "--timeout", "1s")
    said = chat.say("hello")
    assert "out of time (--timeout) · /continue goes on" in said
    reply = chat.saved().entries()[-1]
    assert reply.finish == "timeout" and reply.content.startswith("la li la")
    chat.say("/continue")
    longer = chat.saved().entries()[-1]
    assert longer.content.startswith(reply.content) and len(longer.content) > len(reply.content)
    assert chat.leave() == 0


def test_a_timeout_before_the_first_word(talk: Talk, starter_gguf: Path) -> None:
    chat = talk(starter_gguf, "-b", "32", "--first-token-timeout", "50ms")
    chat.paste("The quick brown fox jumps over the lazy dog. " * 200)
    chat.key("enter")
    chat.wait_for_prompt()
    lines = chat.lines()
    assert "out of time (--timeout)" in lines and TAKEN_BACK in lines
    assert chat.messages() == []
    assert chat.leave() == 0
