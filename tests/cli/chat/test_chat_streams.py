"""Standard streams that are no terminal, while somebody sits at one."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NEXTOK = Path(sys.executable).with_name("nextok")
REPLY = "Hi 😀 bye"

Talk = Callable[..., Any]


def test_replies_go_to_a_file_and_prompts_to_the_terminal(
    talk: Talk, emoji_gguf: Path, scripted: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    chat = talk(emoji_gguf, stdout=out)
    said = chat.say("hello")
    assert len(said) == 1 and re.match(r"0 cached \+ 9 new → 6 tokens", said[0])
    chat.say("/help")
    assert chat.say("/nix")[0].startswith("error: ")
    chat.say("**again**")
    chat.send("/undo\r")
    chat.wait_for_prompt()
    assert chat.leave() == 0
    assert not chat.left_behind()
    assert out.read_bytes() == f"{REPLY}\n{REPLY}\n".encode()
    chat = talk(emoji_gguf, "-C", stdout=out)
    assert "> hello" in chat.lines()
    assert chat.leave() == 0
    assert out.read_bytes() == b""


def test_an_interrupted_reply_in_a_file(
    talk: Talk, scripted: Callable[..., Path], tmp_path: Path
) -> None:
    model = scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)
    out = tmp_path / "out"
    chat = talk(model, "-c", "0", stdout=out)
    chat.send("go\r")
    chat.wait_until(lambda: out.stat().st_size > 30)
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    assert "interrupted · /continue goes on, /regen tries again" in chat.lines()
    assert out.read_text() == chat.messages()[-1] + "\n"


def test_a_file_of_json_lines(talk: Talk, emoji_gguf: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    chat = talk(emoji_gguf, "--jsonl", stdout=out)
    chat.say("hello")
    chat.say("hello")
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["turn"] for line in lines if line["type"] == "end"] == [1, 2]
    assert [line["text"] for line in lines if line["type"] == "end"] == [REPLY, REPLY]


def test_a_reader_that_goes_away_ends_the_chat(talk: Talk, emoji_gguf: Path) -> None:
    """As of any command in a pipe, whether it goes during the loading or later."""
    for reader in ("true", "head -c 1 >&2"):
        under = ("bash", "-c", f'"$@" | {reader}; echo ended: ${{PIPESTATUS[0]}} >&2', "sh")
        chat = talk(emoji_gguf, under=under, ready=reader != "true")
        if reader != "true":
            chat.send("hello\r")
            chat.send("hello\r")
        chat.wait_for("ended: 141")
        assert chat.wait() == 0
        assert not chat.left_behind()


def test_messages_are_said_without_a_terminal_for_errors(
    talk: Talk, emoji_gguf: Path, tmp_path: Path
) -> None:
    err = tmp_path / "err"
    chat = talk(emoji_gguf, stderr=err)
    assert chat.say("hello")[0] == REPLY
    assert chat.say("/nix")[0].startswith("error: ")
    assert chat.leave() == 0
    assert err.read_bytes() == b""


def test_notes_from_a_pipe_and_then_the_terminal(terminal: Talk, emoji_gguf: Path) -> None:
    command = f"printf 'one\\ntwo' | {NEXTOK} chat -t 1 -i -m {shlex.quote(str(emoji_gguf))} about"
    chat = terminal("sh", "-c", command, rows=30)
    chat.wait_for("emoji  ▰")
    lines = chat.lines()
    assert lines[3:10] == ["> one", ". two", ".", ". about", "", REPLY, ""]
    chat.send("/undo\r")
    chat.wait_for("taken back: one two about")
    chat.key("ctrl-d")
    assert chat.wait() == 0
    assert not chat.left_behind()


def test_a_message_on_the_command_line_begins_the_chat(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, "/exit", "now")
    assert chat.lines()[3:6] == ["> /exit now", "", REPLY]
    assert chat.messages() == ["/exit now", REPLY]
