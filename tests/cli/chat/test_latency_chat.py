"""The live figures in the chat: asked for at the start or in the middle, and gone at the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Build = Callable[..., Path]
Talk = Callable[..., Any]

SUMMARY = re.compile(r"ITL p50 [\d.]+ p95 [\d.]+ max [\d.]+ ms( · \d+ stalls?)?")
ACCOUNT = re.compile(r"[a-z ]+ [\d.]+( \+ [a-z ]+ [\d.]+)* = [\d.]+ s")
DRAWING = b"\x1b[K\x1b8"


@pytest.fixture
def tale_gguf(scripted: Build) -> Path:
    """Tells a tale of 150 words, some of them bold, in a chat that it has room for."""
    words = [f"**word{number}** " if number % 7 == 0 else f"word{number} " for number in range(150)]
    return scripted(words, stem="tale", ctx_train=16384)


@pytest.fixture
def endless_gguf(scripted: Build) -> Path:
    return scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)


def check_summary(lines: list[str]) -> None:
    assert SUMMARY.fullmatch(lines[-2]) and ACCOUNT.fullmatch(lines[-1]), lines


def test_the_reply_is_the_same_with_it(talk: Talk, tale_gguf: Path) -> None:
    chat = talk(tale_gguf, "--no-save", "-c", "0")
    before = chat.say("tell")
    assert DRAWING not in chat.raw
    set_on = chat.say("/set latency on")
    assert set_on == ["latency is on from now on"]
    with_it = chat.say("tell")
    assert DRAWING in chat.raw
    words = before.index("")  # the end of the text
    assert with_it[:words] == before[:words]
    check_summary(with_it)
    drawings = chat.raw.count(DRAWING)
    chat.say("/set latency off")
    assert chat.say("tell")[:words] == before[:words]
    assert chat.raw.count(DRAWING) == drawings
    assert chat.leave() == 0
    assert not chat.left_behind()


def test_an_interrupt_takes_it_away(talk: Talk, endless_gguf: Path) -> None:
    chat = talk(endless_gguf, "--no-save", "--latency", "-c", "0")
    chat.send("sing\r")
    chat.wait_for("tok/s")
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    lines = [line for line in chat.lines()[:-2] if line]
    assert "tok/s" not in chat.text()
    check_summary(lines)
    assert any(line.startswith("interrupted") for line in lines)
    assert chat.leave() == 0


def test_it_stands_below_a_folded_thought(talk: Talk, scripted: Build) -> None:
    words = [f"thought{number} " for number in range(200)]
    model = scripted(["<think>", *words, "</think>", "so"], stem="thought", ctx_train=4096)
    chat = talk(model, "--no-save", "--latency", "--think", "hide")
    said = chat.say("well")
    assert DRAWING in chat.raw
    assert said[0].startswith("thought for 200 tokens")
    assert "so" in said
    check_summary(said)
    assert chat.leave() == 0


def test_tinted_text_is_not_laid_out(talk: Talk, tale_gguf: Path) -> None:
    chat = talk(tale_gguf, "--no-save", "-c", "0", "--latency-color")
    said = chat.say("tell")
    assert said[0].startswith("**word0** word1 ")
    assert b"\x1b[22;39m" in chat.raw and DRAWING not in chat.raw
    assert not any(SUMMARY.fullmatch(line) for line in said)
    chat.say("/set latency-color off")
    assert chat.say("tell")[0].startswith("word0 word1 ")
    assert chat.leave() == 0


def test_the_window_is_resized_while_it_is_there(talk: Talk, endless_gguf: Path) -> None:
    chat = talk(endless_gguf, "--no-save", "--latency", "-c", "0")
    chat.send("sing\r")
    for columns in (60, 31, 100):
        chat.wait_for("tok/s")
        chat.resize(columns, 50)
    chat.wait_for("tok/s")
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    assert "tok/s" not in chat.text()
    assert chat.leave() == 0


def test_through_a_pipe_each_turn_has_a_summary(ask: Any, emoji_gguf: Path) -> None:
    answered = ask("chat", "-m", emoji_gguf, "--latency", "--no-save", input=b"one\ntwo\n")
    assert answered.out == "Hi \N{GRINNING FACE} bye\n".encode() * 2
    lines = answered.err.splitlines()
    assert len(lines) == 4
    for tokens, account in (lines[:2], lines[2:]):
        assert tokens.startswith("TTFT ") and SUMMARY.search(tokens)
        assert ACCOUNT.fullmatch(account)
        assert not account.startswith("load")
