"""What a chat looks like: in any window, on any terminal, whatever the model says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Talk = Callable[..., Any]
Build = Callable[..., Path]

REPLY = "Hi 😀 bye"
SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;:?]*[A-Za-z]|\][^\x07]*\x07|.)")
EDITING = re.compile(rb"\x1b\[(?:\??[0-9;]*[ABCDHJKhl]|0?m)")
"""Moves, erases, switches a mode or resets: what a line editor cannot do without."""
COUNTED = [f"w{number} " for number in range(50)]


def plain(raw: bytes) -> str:
    """Without escape sequences."""
    return SEQUENCE.sub(b"", raw).decode()


def test_the_window_changes_its_width(talk: Talk, scripted: Build) -> None:
    """In a reply and while typing: no word is lost, none comes twice."""
    model = scripted(COUNTED, loop=True, stem="counted", ctx_train=65536)
    chat = talk(model, "-c", "0")
    chat.send("go\r")
    for columns, words in ((30, 40), (100, 140), (80, 240)):
        chat.wait_until(lambda words=words: chat.raw.count(b"w") > words)
        chat.resize(columns, 50)
    chat.wait_until(lambda: chat.raw.count(b"w") > 340)
    chat.key("ctrl-c")
    chat.wait_for_prompt()
    after_the_prompt = chat.raw.rpartition(b"\x1b[?2004l")[2]
    said = plain(after_the_prompt).partition("interrupted")[0].split()
    assert said == chat.messages()[-1].split()
    assert said == [COUNTED[number % 50].strip() for number in range(len(said))]
    typed = "The quick brown fox jumps over the lazy dog"
    chat.send(typed)
    chat.wait_for(typed)
    chat.resize(30, 50)
    chat.wait_for("> The quick brown fox jumps ov\n  er the lazy dog\n")
    chat.send(" 世界")
    chat.wait_for("  er the lazy dog 世界\n")
    chat.resize(100, 50)
    chat.send("!\x15\r")  # all of it is cleared
    chat.wait_until(lambda: chat.at_prompt() and chat.lines()[-1].endswith("tokens/s"))


def test_a_narrow_window(talk: Talk, scripted: Build) -> None:
    """Twenty columns: everything is there, and wide characters are not cut at the edge."""
    reply = ["天地玄黄宇宙洪荒", "日月盈昃辰宿列张", " and some plain words"]
    chat = talk(scripted(reply, stem="thousand"), columns=20, rows=130)
    assert chat.lines() == [
        "thousand · context", "4,096", "/help lists the", "commands, Ctrl-D", "leaves", "",
        ">", "thousand  0/4,096",
    ]  # fmt: skip
    assert chat.say("天地玄黄宇宙洪荒日月盈昃")[0] == "天地玄黄宇宙洪荒日月"
    chat.say("/clear")
    said = chat.say("hi")
    assert said[:4] == ["天地玄黄宇宙洪荒日月", "盈昃辰宿列张 and", "some plain words", ""]
    assert re.fullmatch(r"\d cached \+ \d+ new → \d+ tokens · TTFT.*", " ".join(said[4:]))
    said = chat.say("/nix")
    assert " ".join(said) == (
        "error: there is no /nix: /help lists what there is (// begins a message with a slash)"
    )
    page = chat.say("/help")
    assert page[:4] == ["  /help", "    this list", "  /regen", "    another reply to"]
    assert max(map(len, page)) <= 20


def test_without_colours(talk: Talk, scripted: Build) -> None:
    """What is left are the sequences of the line editor."""
    model = scripted(["<think>", "so", "</think>", "\n\n# A\n\n", "**b** `c`"], stem="styled")
    for options, environ in ((["--color", "never"], {}), ([], {"NO_COLOR": "1"})):
        chat = talk(model, *options, **environ)
        assert chat.say("hello")[:-1] == ["<think>so</think>", "", "A", "", "b `c`", ""]
        for command in ("/help", "/nix", "/branches", "/chats", "/set temp", "/stats"):
            chat.say(command)
        chat.leave()
        sequences = SEQUENCE.findall(chat.raw)
        assert sequences and [one for one in sequences if not EDITING.fullmatch(one)] == []
    chat = talk(model, "--color", "always", NO_COLOR="1")
    chat.say("hello")
    assert b"\x1b[2mso\x1b[0m" in chat.raw


def test_a_terminal_that_knows_no_codes(talk: Talk, scripted: Build) -> None:
    model = scripted(["# A\n\n", "**b** 世"], stem="marked-down")
    chat = talk(model, ready=False, rows=24, TERM="dumb", DISPLAY="", WAYLAND_DISPLAY="")
    for typed, said in (("hello\r", "> hello"), ("/copy\r", "/export"), ("half", "> half")):
        chat.wait_until(lambda: chat.lines()[-1:] == [">"])
        chat.send(typed)
        chat.wait_for(said)
    chat.key("ctrl-c")
    chat.wait_until(lambda: chat.lines()[-1:] == [">"])
    chat.key("ctrl-d")
    assert chat.wait() == 0
    assert b"\x1b" not in chat.raw
    assert chat.lines()[3:8] == ["> hello", "", "# A", "", "**b** 世"]
    assert chat.messages() == ["hello", "# A\n\n**b** 世"]
    assert not chat.left_behind()


def test_markdown_is_shown_or_left_as_it_is(talk: Talk, scripted: Build) -> None:
    text = "# Head\n\n* one **bold**\n* two\n"
    model = scripted([text[:9], text[9:]], stem="marked-up")
    chat = talk(model)
    shown = chat.say("hello")
    assert "**" not in "".join(shown) and any("one bold" in line for line in shown)
    assert chat.say("/set markdown 0") == ["markdown is off from now on"]
    assert chat.say("hello")[:5] == ["# Head", "", "* one **bold**", "* two", ""]
    assert chat.messages()[1::2] == [text, text]


def test_quiet_is_only_what_was_asked_for(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, "-q")
    assert chat.lines() == [">", "emoji  ▱▱▱▱▱▱▱▱ 0/4,096"]
    assert chat.say("hello") == [REPLY]
    assert chat.say("/nix")[0].startswith("error: ")
    assert chat.say("/model") == ["emoji"]
    assert chat.say("/set temp 1") == [""]
    assert chat.say("/set temp") == ["  temp  1.0  (set in the chat)"]


def test_a_model_cannot_drive_the_terminal(talk: Talk, esc_gguf: Path, scripted: Build) -> None:
    """Not with sequences in one token or over several, in words, in thoughts or in its name."""
    drive = [
        "\x1b]52;c;",
        "aGk=",
        b"\x07",
        "\x1b[?25l\x1b[?2004l",
        b"\x9b",
        "31m\u202e",
        b"\r",
        "x",
    ]
    wild = scripted(["<think>", *drive, "</think>", "\x1b]0;a title\x07"], stem="wild\x1b[31m")
    for model in (esc_gguf, wild):
        chat = talk(model)
        chat.say("hello")
        chat.say("/think show")
        chat.say("/tokens")
        chat.leave()
        assert b"\x1b]" not in chat.raw and b"\x07" not in chat.raw
        assert b"\x1b[31m" not in chat.raw and "\u202e".encode() not in chat.raw
        assert not chat.left_behind()
    assert chat.messages()[-1].strip() == "\x1b]0;a title\x07"
    chat = talk(wild, "--continue", "--think", "show", "--no-markdown")
    chat.say("/regen")
    chat.leave()
    assert b"\x1b]" not in chat.raw and b"\x07" not in chat.raw and b"\x1b[31m" not in chat.raw


def test_no_sequence_but_styles_around_a_reply(talk: Talk, scripted: Build) -> None:
    """Title, clipboard, cursor and modes are untouched between two prompts."""
    text = ["# A\n\n", "**b** `c`\n\n", "```python\nx = 1\n```\n"]
    chat = talk(scripted(text, stem="plenty"))
    chat.send("hello\r")
    chat.wait_for_prompt()
    (around,) = re.findall(rb"\x1b\[\?2004l(.*)\x1b\[\?2004h", chat.raw, re.DOTALL)
    sequences = set(SEQUENCE.findall(around))
    assert b"\x1b[0m" in sequences and len(sequences) > 2
    assert [one for one in sequences if not re.fullmatch(rb"\x1b\[[0-9;]*m", one)] == []
