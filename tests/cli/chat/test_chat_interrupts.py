"""Ctrl-C, Ctrl-Z and the signals that end a process, in every phase of a chat."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HOW_TO_LEAVE = "Ctrl-D or /bye leaves, Ctrl-C once more too"
INTERRUPTED = "interrupted · /continue goes on, /regen tries again"
LONG = "The quick brown fox jumps over the lazy dog and runs away.\n" * 200
LONG_IS_SHOWN_AS = "[201 lines]"

Talk = Callable[..., Any]
Build = Callable[..., Path]
Press = Callable[[Any], None]


def by_key(chat: Any) -> None:
    chat.key("ctrl-c")


def by_signal(chat: Any) -> None:
    chat.signal(signal.SIGINT)


@pytest.fixture(params=[by_key, by_signal])
def press(request: pytest.FixtureRequest) -> Press:
    """Ctrl-C, once as a key and once as the signal itself."""
    made: Press = request.param
    return made


@pytest.fixture
def endless(scripted: Build) -> Path:
    """Says "la li la li " for as long as anybody wants to wait."""
    return scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)


def begin_prefill(chat: Any) -> None:
    chat.paste(LONG)
    chat.key("enter")
    chat.wait_for("reading: ")


def begin_reply(chat: Any) -> None:
    chat.send("go\r")
    chat.wait_until(lambda: chat.raw.count(b"la") > 30, "the reply does not come")


def la_li(count: int) -> list[str]:
    return ["li" if number % 2 else "la" for number in range(count)]


def test_an_interrupt_of_the_loading_leaves_the_chat(
    talk: Talk, slow_gguf: Any, press: Press
) -> None:
    chat = talk(slow_gguf.path, ready=False, **slow_gguf.environ)
    slow_gguf.wait_for(chat)
    press(chat)
    chat.wait_for_prompt()
    assert chat.lines()[0] == "loading was interrupted: your next message loads the model"
    assert chat.lines()[-1] == "no model"
    press(chat)  # so soon it means nothing
    chat.send("hello\r")
    slow_gguf.wait_for(chat)
    assert HOW_TO_LEAVE not in chat.lines()
    press(chat)
    chat.wait_for_prompt()
    slow_gguf.gate.unlink()
    assert chat.say("hello again")[:3] == ["slow · context 4,096", "", "Hi 😀 bye"]
    assert chat.messages() == ["hello again", "Hi 😀 bye"]
    assert chat.leave() == 0
    assert not chat.left_behind()


def test_an_interrupt_of_another_models_loading_keeps_the_old_one(
    talk: Talk, slow_gguf: Any, emoji_gguf: Path
) -> None:
    chat = talk(emoji_gguf, **slow_gguf.environ)
    chat.send(f"/model {slow_gguf.path}\r")
    slow_gguf.wait_for(chat)
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    assert chat.say("/model") == ["emoji"]
    assert chat.say("hi")[0] == "Hi 😀 bye"


def test_an_interrupt_of_the_reading_takes_the_message_back(
    talk: Talk, starter_gguf: Path, press: Press
) -> None:
    chat = talk(starter_gguf, "-b", "32", "-n", "2", "--temp", "0")
    begin_prefill(chat)
    press(chat)
    chat.wait_for_prompt()
    lines = chat.lines()
    assert "interrupted" in lines
    assert "your message was taken back: Up brings it here again" in lines
    assert not any("reading: " in line for line in lines)
    (read, whole) = re.search(r"^read ([\d,]+) of ([\d,]+) tokens$", chat.text(), re.M).groups()
    assert chat.lines()[-1].split()[2] == f"{read}/8,192"
    assert 0 < int(read) < int(whole.replace(",", ""))
    assert "2 tokens" in chat.say("Hello.")[-2]
    said, reply = chat.saved().entries()
    assert (said.content, reply.finish) == ("Hello.", "length")
    chat.key("up", "up")
    chat.wait_for(f"> {LONG_IS_SHOWN_AS}")


def test_an_interrupt_of_a_reply_keeps_the_words(talk: Talk, endless: Path, press: Press) -> None:
    chat = talk(endless, "-c", "0")
    begin_reply(chat)
    press(chat)
    chat.wait_for_prompt()
    assert INTERRUPTED in chat.lines()
    said, reply = chat.saved().entries()
    assert (said.content, reply.finish) == ("go", "interrupted")
    lines = chat.lines()
    shown = lines[lines.index("> go") + 1 : lines.index(INTERRUPTED)]
    assert " ".join(shown).split() == reply.content.split() == la_li(len(reply.content) // 3)
    chat.send("/set max-tokens 1\r")
    chat.wait_for_prompt()
    chat.say("/continue")
    (_, longer) = chat.saved().entries()
    assert longer.content.split() == la_li(len(reply.content) // 3 + 1)
    assert chat.leave() == 0
    assert not chat.left_behind()


def test_presses_soon_after_an_interrupt_mean_nothing(
    talk: Talk, endless: Path, press: Press, slow_clock: dict[str, str]
) -> None:
    chat = talk(endless, "-c", "0", rows=24, **slow_clock)
    begin_reply(chat)
    press(chat)
    chat.wait_for_prompt()
    for _ in range(5):
        press(chat)
    chat.send("typed")
    chat.wait_for("> typed")
    press(chat)
    chat.send(" on")
    chat.wait_for("> typed on")
    assert HOW_TO_LEAVE not in chat.lines()


def test_an_interrupt_at_the_prompt(
    talk: Talk, emoji_gguf: Path, press: Press, slow_clock: dict[str, str]
) -> None:
    chat = talk(emoji_gguf, **slow_clock)
    chat.send("half a message")
    chat.wait_for("> half a message")
    press(chat)
    chat.wait_until(chat.at_prompt)
    assert HOW_TO_LEAVE not in chat.lines()
    press(chat)
    chat.wait_for(HOW_TO_LEAVE)
    chat.wait_until(chat.at_prompt)
    assert chat.say("hi")[0] == "Hi 😀 bye"
    press(chat)
    chat.wait_for(HOW_TO_LEAVE)
    chat.wait_until(chat.at_prompt)
    press(chat)
    assert chat.wait() == 0
    assert chat.messages() == ["hi", "Hi 😀 bye"]
    assert not chat.left_behind()


def test_the_third_interrupt_of_a_reply_ends_the_program(talk: Talk, endless: Path) -> None:
    """It can only be reached when the reply does not end: here the screen takes nothing more."""
    chat = talk(endless, "-c", "0")
    begin_reply(chat)
    chat.key("ctrl-s")
    while chat.is_running():
        chat.signal(signal.SIGINT)
    assert chat.wait() == -signal.SIGINT
    assert not chat.left_behind()
    assert chat.messages() == ["go"]


def test_a_file_waits_once_when_its_message_was_not_answered(
    talk: Talk, starter_gguf: Path, tmp_path: Path
) -> None:
    (tmp_path / "doc.txt").write_text("old")
    (tmp_path / "b.txt").write_text("b")
    chat = talk(starter_gguf, "-b", "32", "-n", "2", "-c", "2048", cwd=tmp_path, columns=100)
    chat.say("/file doc.txt")
    (tmp_path / "doc.txt").write_text("LOOK")
    chat.say("/file ./doc.txt")
    chat.paste("x " * 9_000)
    chat.key("enter")
    chat.wait_for_prompt()
    assert "./doc.txt still waits for your next message (/clear drops it)" in chat.lines()
    chat.say("/file b.txt")
    chat._clear()
    chat.paste(LONG[:6_000])
    chat.key("enter")
    chat.wait_for("reading: ")
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    assert "./doc.txt, b.txt still wait for your next message (/clear drops it)" in chat.lines()
    assert "still wait" not in "".join(chat.say("hello"))
    assert chat.messages()[0] == "LOOK\n\nb\n\nhello"
