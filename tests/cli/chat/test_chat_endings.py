"""Every way in which a chat ends or stops: the terminal is as before, and what was said is kept."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NEXTOK = Path(sys.executable).with_name("nextok")
LONG = "The quick brown fox jumps over the lazy dog and runs away.\n" * 200
ENDING = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])

Talk = Callable[..., Any]
Build = Callable[..., Path]


@pytest.fixture
def endless(scripted: Build) -> Path:
    """Says "la li la li " for as long as anybody wants to wait."""
    return scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)


@pytest.fixture
def pondering(scripted: Build) -> Path:
    """Thinks for ever."""
    return scripted(["<think>", "on ", "and "], loop=True, stem="pondering", ctx_train=65536)


@ENDING
def test_a_signal_at_the_prompt(talk: Talk, emoji_gguf: Path, number: int) -> None:
    chat = talk(emoji_gguf)
    chat.say("hello")
    chat.send("half")
    chat.wait_for("> half")
    chat.signal(number)
    assert chat.wait() == -number
    assert chat.lines()[-1] == "> half"
    assert not chat.left_behind()
    assert chat.messages() == ["hello", "Hi 😀 bye"]


@ENDING
def test_a_signal_in_a_reply(talk: Talk, pondering: Path, number: int) -> None:
    chat = talk(pondering, "-c", "0")
    chat.send("go\r")
    chat.wait_until(lambda: chat.raw.count(b"on") > 9)
    chat.signal(number)
    assert chat.wait() == -number
    assert not chat.left_behind()
    said, reply = chat.saved().entries()
    assert (said.content, reply.content, reply.finish) == ("go", "", "interrupted")
    assert reply.reasoning.startswith("on and ")


@ENDING
def test_a_signal_in_the_reading(talk: Talk, starter_gguf: Path, number: int) -> None:
    chat = talk(starter_gguf, "-b", "32")
    chat.paste(LONG)
    chat.key("enter")
    chat.wait_for("reading: ")
    chat.signal(number)
    assert chat.wait() == -number
    assert not chat.left_behind()
    assert not any("reading: " in line for line in chat.lines())
    assert chat.messages() == [LONG]


def test_a_message_that_was_not_answered_is_there_when_the_chat_goes_on(
    talk: Talk, starter_gguf: Path
) -> None:
    chat = talk(starter_gguf, "-b", "32", "-n", "2")
    chat.paste(LONG)
    chat.key("enter")
    chat.wait_for("reading: ")
    chat.hang_up()
    assert chat.wait() == -signal.SIGHUP
    chat = talk(starter_gguf, "-C", "-n", "2", columns=100)
    assert "the last message was not answered: /regen answers it" in chat.lines()
    said = chat.say("hello")
    assert "the message that was not answered stays in a branch: /branches has it" in said
    assert chat.messages()[0] == "hello"
    assert LONG in [branch.last for branch in chat.saved().branches()]
    assert "not answered" not in "".join(chat.say("and you?"))


@ENDING
def test_a_signal_in_the_loading(talk: Talk, slow_gguf: Any, number: int) -> None:
    chat = talk(slow_gguf.path, ready=False, **slow_gguf.environ)
    slow_gguf.wait_for(chat)
    chat.signal(number)
    assert chat.wait() == -number
    assert not chat.left_behind()


@ENDING
def test_a_signal_while_a_command_runs(
    talk: Talk, emoji_gguf: Path, tmp_path: Path, number: int
) -> None:
    os.mkfifo(tmp_path / "pipe")
    chat = talk(emoji_gguf, cwd=tmp_path)
    chat.send("/file pipe\r")
    writer = os.open(tmp_path / "pipe", os.O_WRONLY)  # until it reads
    chat.signal(number)
    assert chat.wait() == -number
    os.close(writer)
    assert not chat.left_behind()


def test_a_kill_in_a_reply(talk: Talk, endless: Path) -> None:
    """Nothing can be done about that, but what was said before is there."""
    chat = talk(endless, "-c", "0", "-n", "2")
    chat.say("one")
    chat.say("/set max-tokens -1")
    chat.send("two\r")
    chat.wait_until(lambda: chat.raw.count(b"la") > 9)
    chat.signal(signal.SIGKILL)
    assert chat.wait() == -signal.SIGKILL
    assert chat.messages() == ["one", "la li ", "two"]


def test_a_window_closed_at_the_prompt(talk: Talk, emoji_gguf: Path) -> None:
    """The next chat need not read again what was read."""
    chat = talk(emoji_gguf)
    chat.say("x" * 100)
    chat.hang_up()
    assert chat.wait() == -signal.SIGHUP
    chat = talk(emoji_gguf, "-C")
    assert chat.say("/regen")[-1].startswith("103 cached + 1 new → 6 tokens")


def test_a_window_closed_in_a_reply(talk: Talk, endless: Path) -> None:
    chat = talk(endless, "-c", "0")
    chat.send("go\r")
    chat.wait_until(lambda: chat.raw.count(b"la") > 9)
    chat.hang_up()
    assert chat.wait() == -signal.SIGHUP
    said, reply = chat.saved().entries()
    assert said.content == "go"
    assert reply.finish in ("interrupted", "disconnected")  # the signal, or the write, came first
    assert reply.content.startswith("la li ")


@pytest.mark.parametrize("word", ["/bye", "/QUIT"])
def test_words_that_leave(talk: Talk, emoji_gguf: Path, word: str) -> None:
    chat = talk(emoji_gguf)
    chat.send(f"{word}\r")
    assert chat.wait() == 0
    assert chat.lines()[-1] == f"> {word}"
    assert not chat.left_behind()


def test_the_end_of_input(talk: Talk, endless: Path) -> None:
    """With text it sends nothing; on an empty line it leaves, also when it was typed early."""
    chat = talk(endless, "-c", "0", "-n", "400")
    chat.send("abc\x04\x04")
    chat.wait_for("> abc")
    chat.key("ctrl-u", "ctrl-d")
    assert chat.wait() == 0
    assert not chat.left_behind()
    chat = talk(endless, "-c", "0", "-n", "400")
    chat.send("go\r")
    chat.wait_until(lambda: chat.raw.count(b"la") > 9)
    chat.key("ctrl-d")
    assert chat.wait() == 0
    said, reply = chat.saved().entries()
    assert (reply.finish, len(reply.content.split())) == ("length", 400)
    assert not chat.left_behind()


def test_what_is_typed_during_a_reply_stands_at_the_next_prompt(talk: Talk, endless: Path) -> None:
    chat = talk(endless, "-c", "0", "-n", "400")
    chat.send("go\r")
    chat.wait_until(lambda: chat.raw.count(b"la") > 9)
    chat.send("a thought 世")
    assert "thought" not in "".join(chat.lines())
    chat.wait_for("> a thought 世")
    assert chat.raw.count("世".encode()) == 1


@pytest.mark.parametrize("shell", ["bash --norc -i", "sh -i"])
def test_it_is_stopped_and_goes_on(
    terminal: Talk, pondering: Path, tmp_path: Path, shell: str
) -> None:
    modes = tmp_path / "modes"
    screen = terminal(*shell.split(), PS1="$ ", ENV="", rows=50)
    screen.wait_for("$")
    screen.send(f"stty -g > {modes}; {NEXTOK} chat -t 1 -c 0 -m {pondering}\n")
    check = f"stty -g | cmp - {modes} && echo the same; fg\n"
    screen.wait_for("pondering  ▱")
    screen.send("go\r")
    screen.wait_until(lambda: screen.raw.count(b"on") > 9)
    screen.key("ctrl-z")
    screen.wait_until(lambda: b"Stopped" in screen.raw)  # some shells end no line before it
    assert "colours" not in screen.left_behind()
    screen.send(check)
    screen.wait_for("the same\n")
    before = screen.raw.count(b"on")
    screen.wait_until(lambda: screen.raw.count(b"on") > before + 30)
    screen.key("ctrl-c")
    screen.wait_for("pondering  ▰")
    screen.key("ctrl-z")
    screen.wait_until(lambda: screen.raw.count(b"Stopped") == 2)
    screen.send(check)
    screen.wait_until(lambda: screen.raw.count(b"the same\r") == 2)
    screen.wait_for("pondering  ▰")
    screen.send("/model\r")
    screen.wait_for("\npondering\n")
    screen.key("ctrl-d")
    screen.wait_until(lambda: screen.lines()[-1:] == ["$"])
    screen.send(f"stty -g | cmp - {modes} && echo as before\n")
    screen.wait_for("as before\n$")
    assert "^" not in "\n".join(screen.lines())
