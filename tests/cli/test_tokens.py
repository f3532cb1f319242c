"""`nextok tokens` and `nextok render`: what the model would get."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Ask = Callable[..., Any]
Build = Callable[..., Path]


def test_a_line_a_token(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("tokens", "-m", emoji_gguf, "a b")
    assert (answered.code, answered.err) == (0, "")
    assert answered.out.decode().splitlines() == [
        "      1  '<s>'",
        "    260  '<|user|>'",
        "    100  'a'",
        "    263  ' '",
        "    101  'b'",
        "    262  '<|end|>'",
        "    259  '<|go|>'",
    ]


def test_the_object(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("tokens", "-m", emoji_gguf, "--raw", "--json", "a\n")
    assert answered.object == {
        "tokens": [
            {"id": 1, "piece": "<s>"},
            {"id": 100, "piece": "a"},
            {"id": 13, "piece": "\n"},
        ]
    }


def test_chat_is_the_opposite_of_raw(ask: Ask, emoji_gguf: Path) -> None:
    chat = ask("tokens", "-m", emoji_gguf, "--chat", "hi", env={"NEXTOK_RAW": "1"})
    assert chat.out == ask("tokens", "-m", emoji_gguf, "hi").out
    assert chat.out.count(b"\n") == 6


def test_pieces_cannot_drive_a_terminal(ask: Ask) -> None:
    answered = ask("tokens", "-m", "toy", "--raw", "\x1b[31m")
    assert b"\x1b" not in answered.out
    assert b"'\\x1b'" in answered.out


def test_the_pieces_of_real_text_join_to_it(ask: Ask, starter_gguf: Path) -> None:
    text = "The sky  is\tblue;\n\n    return x"
    answered = ask("tokens", "-m", starter_gguf, "--raw", "--json", text)
    pieces = [token["piece"] for token in answered.object["tokens"]]
    assert "".join(pieces) == text
    assert len(pieces) < len(text)


def test_render_prints_the_text_and_nothing_more(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("render", "-m", emoji_gguf, "--system", "S", "hi")
    assert (answered.code, answered.err) == (0, "")
    assert answered.out == b"<s><|sys|>S<|end|><|user|>hi<|end|><|go|>"


def test_bos_stands_once_whoever_writes_it(ask: Ask, scripted: Build) -> None:
    silent = scripted(["x"], template="{{ messages[0].content }}", stem="silent")
    twice = scripted(["x"], template="{{ bos_token + bos_token }}q", stem="twice")
    for model in (silent, twice):
        listed = ask("tokens", "-m", model, "--json", "q").object["tokens"]
        assert [token["id"] for token in listed].count(1) == 1
        assert listed[0]["id"] == 1
    none = scripted(["x"], template="{{ messages[0].content }}", add_bos=False, stem="none")
    listed = ask("tokens", "-m", none, "--json", "q").object["tokens"]
    assert [token["piece"] for token in listed] == ["q"]


def test_a_full_disk(ask: Ask) -> None:
    for command in ("render", "tokens"):
        with open("/dev/full", "w") as full:
            answered = ask(command, "-m", "toy", "hi", stdout=full)
        answered.check_failed(1, "No space left on device")
