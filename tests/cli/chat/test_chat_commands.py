"""The commands that change how replies are made, look behind them, or carry texts in and out."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.chat.slash import parse
from nextok.generation.errors import UsageError

Talk = Callable[..., Any]
Build = Callable[..., Path]

REPLY = "Hi 😀 bye"
OSC_52 = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")


def test_the_system_message(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, "-sys", "be kind")
    assert chat.say("/system") == ["be kind"]
    chat.say("hello")
    assert chat.say("/show prompt") == ["<s><|sys|>be kind<|end|><|user|>hello<|end|><|go|>"]
    assert chat.say("/system be brief, and  kind") == ["be brief, and  kind"]
    chat.say("/regen")
    assert chat.say("/show prompt") == [
        "<s><|sys|>be brief, and  kind<|end|><|user|>hello<|end|><|go|>"
    ]
    assert chat.saved().system == "be brief, and  kind"
    assert chat.say("/system -") == ["no system message: /system TEXT sets one"]
    assert chat.say("/system") == ["no system message: /system TEXT sets one"]
    assert chat.say("/show prompt") == ["<s><|user|>hello<|end|><|go|>"]


def test_settings(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, "--top-k", "7")
    listed = chat.say("/set")
    assert "  temp                  0.8" in listed
    assert "  top-k                 7  (flag)" in listed
    assert '  dry-sequence-breaker  "\\n" ":" "\\"" "*"' in listed
    assert "  max-tokens            -1" in listed
    assert chat.say("/show settings") == listed
    for line, said in (
        ("/set temp", "  temp  0.8"),
        ("/set --temperature 0", "temp is 0.0 from now on"),
        ("/set temp=0.2", "temp is 0.2 from now on"),
        ("/set temp", "  temp  0.2  (set in the chat)"),
        ("/set temp -1", "error: /set temp must be a number from 0 to 100, not '-1'"),
        ("/set temp", "  temp  0.2  (set in the chat)"),
        ("/set temp -", "temp is 0.8 from now on"),
        ("/set tmp 1", "error: there is no setting tmp: did you mean temp?"),
        ("/set ctx-size 64", "error: ctx-size holds for the whole chat: give it at the start"),
        ("/set ignore-eos", "ignore-eos is on from now on"),
        ("/set no-ignore-eos", "ignore-eos is off from now on"),
        ('/set stop " bye"', 'stop is " bye" from now on'),
        ("/set n 5", "max-tokens is 5 from now on"),
        ("/set -n 6", "max-tokens is 6 from now on"),
        ("/set c 64", "error: ctx-size holds for the whole chat: give it at the start"),
        ("/set timeout 2m", "timeout is 120.0 from now on"),
        ("/set timeout off", "timeout is off from now on"),
        ("/set logit-bias 5-inf", "logit-bias is 5-inf from now on"),
    ):
        assert chat.say(line) == [said], line
    assert chat.say("hello")[0] == "Hi 😀"
    assert chat.saved().settings == {
        "ignore-eos": "0", "stop": " bye", "max-tokens": "6", "timeout": "off",
        "logit-bias": "5-inf",
    }  # fmt: skip


def test_another_model(talk: Talk, scripted: Build, emoji_gguf: Path, tmp_path: Path) -> None:
    """It reads what was said so far. When it cannot be loaded the one before goes on."""
    other = scripted(["other ", "words"], stem="other")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF?")
    chat = talk(emoji_gguf)
    assert chat.say("/model") == ["emoji"]
    chat.say("hello")
    for wrong in ("nowhere.gguf", broken, "nobody/nothing-at-all"):
        (trouble, *_) = chat.say(f"/model {wrong}")
        assert trouble.startswith("error: "), trouble
        assert chat.say("/model") == ["emoji"]
    assert chat.say("again")[0] == REPLY
    assert chat.say(f"/model {other}") == ["other · context 4,096"]
    said = chat.say("hello")
    assert said[0] == "other words"
    assert re.match(r"0 cached \+ \d+ new → 2 tokens", said[-1])
    assert chat.messages() == ["hello", REPLY, "again", REPLY, "hello", "other words"]
    assert chat.saved().model == str(other)
    assert chat.lines()[-1].startswith("other  ▰")


@pytest.fixture
def thoughtful(scripted: Build) -> Path:
    return scripted(["<think>", "so ", "so", "</think>", "\n\n", "yes"], stem="thoughtful")


def test_reasoning_is_folded_and_unfolded(talk: Talk, thoughtful: Path) -> None:
    chat = talk(thoughtful)
    assert chat.say("hello")[:-1] == ["so so", "", "yes", ""]
    assert b"\x1b[2mso so\x1b[0m" in chat.raw
    assert chat.say("/think") == ["reasoning is folded"]
    assert chat.say("hello")[:-1] == ["thought for 2 tokens · /think shows it", "", "yes", ""]
    assert chat.say("/think") == ["so so", "reasoning is shown"]
    assert chat.say("/think hide") == ["reasoning is folded"]
    assert chat.say("/think show") == ["so so", "reasoning is shown"]
    assert chat.say("/think loud") == ["error: /think takes show, dim or hide"]
    said, reply = chat.saved().entries()[-2:]
    assert (reply.content.strip(), reply.reasoning.strip()) == ("yes", "so so")
    assert "so so" not in "".join(chat.say("/show prompt"))


def test_what_is_behind(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    assert chat.say("/stats") == ["error: no figures yet: there was no reply"]
    assert chat.say("/show prompt") == ["error: no prompt yet: nothing was said"]
    assert chat.say("/show") == ["error: /show takes one of settings, template, stats, prompt"]
    assert chat.say("/tokens") == ["0 of 4,096 with the template; 0 are in the cache"]
    assert chat.say("/tokens h😀") == [
        "  107  'h'", "  243  '�'", "  162  '�'", "  155  '�'", "  131  '�'",
    ]  # fmt: skip
    assert "".join(chat.say("/show template")).startswith("{{ bos_token }}{% for m in messages %}")
    chat.say("/set seed 5")
    chat.say("hello")
    first, second, *_ = stats = chat.say("/stats")
    assert first == "emoji · 9 prompt tokens (0 cached) · 6 tokens · eos · seed 5"
    assert re.match(r"load \d\.\d\d s · prefill \d\.\d\d s · TTFT \d\.\d\d\d s · ITL ", second)
    assert chat.say("/show stats") == stats
    assert chat.say("/show prompt") == ["<s><|user|>hello<|end|><|go|>"]
    assert chat.say("/tokens") == [
        "         5  user: hello",
        "        11  assistant: Hi 😀 bye",
        "22 of 4,096 with the template; 15 are in the cache",
    ]


def test_files_come_before_the_next_message(talk: Talk, emoji_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\r\n\ttwo 世\n\n", "utf-8", newline="")
    (tmp_path / "b c.txt").write_text("/exit", "utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    chat = talk(emoji_gguf, cwd=tmp_path)
    assert chat.say("/file") == ["error: /file takes the paths of files"]
    assert chat.say("/file nowhere.txt a.txt") == [
        "error: cannot read nowhere.txt: No such file or directory"
    ]
    assert chat.say("/file bad.txt")[0].startswith("error: bad.txt is UTF-16")
    assert chat.say('/file a.txt "b c.txt"') == [
        "a.txt: 15 tokens, before your next message (/clear drops it)",
        "b c.txt: 5 tokens, before your next message (/clear drops it)",
    ]
    chat.say("what is this?")
    chat.say("and now?")
    assert chat.messages()[::2] == [
        "one\r\n\ttwo 世\n\n/exit\n\nwhat is this?", "and now?",
    ]  # fmt: skip


def test_a_file_that_never_ends_can_be_interrupted(
    talk: Talk, emoji_gguf: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    chat = talk(emoji_gguf, cwd=tmp_path)
    chat.send("/file pipe\r")
    writer = os.open(tmp_path / "pipe", os.O_WRONLY)
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    os.close(writer)
    assert "interrupted" in chat.lines()
    assert chat.say("hello")[0] == REPLY
    assert chat.messages() == ["hello", REPLY]


def test_a_reply_is_copied_as_it_was_written(talk: Talk, scripted: Build) -> None:
    text = "# **bold** 世\n\n| a | b |\n"
    chat = talk(scripted([text[:5], text[5:]], stem="marked"), DISPLAY="", WAYLAND_DISPLAY="")
    assert chat.say("/copy") == ["error: nothing to copy: there is no reply yet"]
    chat.say("hello")
    assert not OSC_52.findall(chat.raw)
    assert chat.say("/copy") == ["copied 24 characters (through the terminal, if it allows that)"]
    chat.say("/stats")
    (copied,) = OSC_52.findall(chat.raw)
    assert base64.b64decode(copied).decode() == text


@pytest.mark.parametrize("line", ["/undo 3", "/continue x", "/help set", "/exit now"])
def test_what_a_command_cannot_take_is_said(line: str) -> None:
    name = line.split()[0]
    with pytest.raises(UsageError, match=f"^{name} takes nothing after it"):
        parse(line)
    assert parse(name + "  ") is not None
