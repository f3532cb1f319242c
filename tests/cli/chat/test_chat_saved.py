"""Saved chats, at a terminal: kept as they go, named, taken up, listed, deleted, written out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Talk = Callable[..., Any]
Build = Callable[..., Path]

REPLY = "Hi 😀 bye"


@pytest.fixture
def chats() -> Path:
    """The folder of the saved chats."""
    return Path(os.environ["XDG_STATE_HOME"]) / "nextok" / "chats"


def test_chats_are_named_listed_taken_up_and_deleted(
    talk: Talk, emoji_gguf: Path, chats: Path
) -> None:
    chat = talk(emoji_gguf)
    assert chat.say("/chats") == ["error: no chat is saved yet"]
    assert chat.say("/rename x") == ["error: nothing is kept yet: /save NAME keeps this chat"]
    chat.say("one two three")
    (first,) = chats.iterdir()
    assert first.name.endswith("-one-two-three.jsonl")
    assert first.stat().st_mode & 0o777 == 0o600
    assert chat.say("/save numbers") == ["this chat is numbers now"]
    assert chat.say("/save") == ["kept as numbers"]
    assert chat.say("/new") == ["a new chat"]
    chat.say("red green")
    assert chat.say("/rename my colours") == ["this chat is my colours now"]
    assert chat.say("/rename numbers")[0].startswith("error: ")
    assert chat.say("/chats") == [
        "  my colours  just now · 2 messages · red green",
        "  numbers     just now · 2 messages · one two three",
    ]
    assert chat.say("/chats TWO one") == ["  numbers  one two three"]
    assert chat.say("/chats twenty") == ["error: no chat says that"]
    assert chat.say("/load num") == ["numbers: 2 messages", "", "> one two three", "", REPLY]
    chat.say("four")
    assert chat.messages("numbers") == ["one two three", REPLY, "four", REPLY]
    assert chat.messages("my colours") == ["red green", REPLY]
    assert chat.say("/load n") == [
        "numbers: 4 messages", "", "> four", "", REPLY,
    ]  # fmt: skip
    assert chat.say("/delete numbers") == ["error: this chat is going on: /new first, then /delete"]
    assert chat.say("/delete colours") == [
        "error: only a chat that is named whole is deleted: /delete my colours"
    ]
    assert chat.say("/delete my colours") == ["deleted my colours"]
    assert chat.say("/load colours") == [
        "error: no chat is called 'colours': the nearest are numbers"
    ]
    assert [one.name for one in chats.iterdir()] == ["numbers.jsonl"]


def test_a_chat_is_written_out(talk: Talk, emoji_gguf: Path, tmp_path: Path) -> None:
    chat = talk(emoji_gguf, cwd=tmp_path)
    chat.say("/system be brief")
    chat.say("hello")
    assert chat.say("/export chat.md") == ["wrote chat.md"]
    assert chat.say("/export chat.json") == ["wrote chat.json"]
    assert chat.say("/export chat.md") == ["error: chat.md exists: take another name"]
    assert chat.say("/export no/chat.md") == [
        "error: cannot write no/chat.md: No such file or directory"
    ]
    assert (tmp_path / "chat.md").read_text("utf-8") == (
        f"# hello\n\n## System\n\nbe brief\n\n## You\n\nhello\n\n## emoji\n\n{REPLY}\n"
    )
    assert json.loads((tmp_path / "chat.json").read_text("utf-8")) == {
        "title": "hello",
        "model": str(emoji_gguf),
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": REPLY, "finish_reason": "eos"},
        ],
    }


def test_a_chat_goes_on_in_another_process(talk: Talk, emoji_gguf: Path) -> None:
    """With its messages, its settings and its system message; flags given now outrank those."""
    chat = talk(emoji_gguf)
    for line in ("/system be brief", "/set temp 0.3", "/set seed 7", "hello", "/branch b", "more"):
        chat.say(line)
    assert chat.leave() == 0
    chat = talk(emoji_gguf, "--continue", "--seed", "8")
    lines = chat.lines()
    name = lines[3].partition(":")[0]
    assert lines[3:] == [
        f"{name}: 4 messages", "", "> more", "", REPLY, "", ">", "emoji  b  ▰▱▱▱▱▱▱▱ 44/4,096",
    ]  # fmt: skip
    assert chat.say("/set temp") == ["  temp  0.3  (set in the chat)"]
    assert chat.say("/set seed") == ["  seed  8  (flag)"]
    assert chat.say("/system") == ["be brief"]
    chat.say("again")
    assert chat.messages(name) == ["hello", REPLY, "more", REPLY, "again", REPLY]
    assert chat.say("/new") == ["a new chat"]
    assert chat.say("/set temp") == ["  temp  0.3  (set in the chat)"]
    assert chat.say("/set temp -") == ["temp is 0.8 from now on"]
    chat.say("/load more")
    chat.say(f"/load {name}")
    assert chat.say("/set temp") == ["  temp  0.3  (set in the chat)"]


def test_a_kept_state_saves_the_reading(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    chat.say("x" * 100)
    assert chat.leave() == 0
    chat = talk(emoji_gguf, "--continue")
    said = chat.say("/regen")
    assert said[-1].startswith("103 cached + 1 new → 6 tokens")


def test_a_chat_takes_its_model_along(talk: Talk, emoji_gguf: Path, loop_gguf: Path) -> None:
    """With what that has read, unless a flag says which model it is to be."""
    chat = talk(None, NEXTOK_MODEL=str(emoji_gguf))
    chat.say("x" * 100)
    chat.say("/rename one")
    chat.say("/new")
    chat.say(f"/model {loop_gguf}")
    chat.say("/set max-tokens 3")
    chat.say("y")
    assert chat.messages("*-y") == ["y", "la li la "]
    assert chat.say("/load one")[:2] == ["emoji · context 4,096", "one: 2 messages"]
    said = chat.say("more")
    assert said[0] == REPLY
    assert said[-1].startswith("104 cached + ")
    assert chat.leave() == 0
    chat = talk(loop_gguf, "-n", "2", "-C")
    assert chat.lines()[0] == "loop · context 4,096"
    chat.say("more")
    assert chat.messages("one") == ["x" * 100, REPLY, "more", REPLY, "more", "la li "]


def test_the_second_who_opens_a_chat_is_told(talk: Talk, emoji_gguf: Path) -> None:
    first = talk(emoji_gguf)
    first.say("hello")
    first.say("/rename shared")
    second = talk(emoji_gguf, "--resume", "shared", ready=False)
    assert second.wait() == 2
    told = " ".join(second.lines())
    assert told.startswith(f"nextok: error: the chat shared is open in process {first.pid}")
    assert not second.left_behind()
    second = talk(emoji_gguf)
    second.say("mine")
    told = " ".join(second.say("/load shared"))
    assert told.startswith(f"error: the chat shared is open in process {first.pid}")
    second.say("still mine")
    assert first.messages("shared") == ["hello", REPLY]
    assert second.messages("*mine") == ["mine", REPLY, "still mine", REPLY]


@pytest.mark.parametrize("trouble", ["no folder", "no room"])
def test_where_nothing_can_be_kept_the_chat_goes_on(
    talk: Talk, emoji_gguf: Path, chats: Path, trouble: str
) -> None:
    under = ()
    if trouble == "no room":
        under = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
    else:
        chats.parent.mkdir(parents=True, exist_ok=True)
        chats.write_text("no folder")
    chat = talk(emoji_gguf, under=under)
    said = " ".join(chat.say("hello"))
    assert said.count("the chat goes on without being saved") == 1
    assert REPLY in said
    said = chat.say("hello")
    assert said[:-1] == [REPLY, ""]
    assert chat.leave() == 0
    assert not chat.left_behind()


def test_a_damaged_chat_is_mended_and_goes_on(talk: Talk, emoji_gguf: Path, chats: Path) -> None:
    chat = talk(emoji_gguf)
    chat.say("hello")
    chat.say("/rename old")
    chat.leave()
    path = chats / "old.jsonl"
    damaged = path.read_bytes() + b'garbage\n{"type":"message","id'
    path.write_bytes(damaged)
    chat = talk(emoji_gguf, "-C")
    told = " ".join(chat.lines())
    assert "2 damaged lines left out (5, 6); the original is " in told
    assert chat.say("more")[0] == REPLY
    assert chat.messages("old") == ["hello", REPLY, "more", REPLY]
    (backup,) = (one for one in chats.iterdir() if one != path)
    assert backup.read_bytes() == damaged


def test_a_chat_that_is_not_kept_can_be_kept_after_all(
    talk: Talk, emoji_gguf: Path, chats: Path
) -> None:
    chat = talk(emoji_gguf, "--no-save")
    chat.say("hello")
    assert not chats.exists() and not (chats.parent / "history").exists()
    assert chat.say("/save after all") == ["kept as after all"]
    assert chat.messages("after all") == ["hello", REPLY]
    chat.say("more")
    assert chat.messages("after all") == ["hello", REPLY, "more", REPLY]


@pytest.mark.parametrize(
    ("question", "mark"), [("x" * 3_000, "> [3,000 characters]"), ("short", "> short")]
)
def test_what_is_longer_than_the_screen_is_folded_when_it_is_taken_up(
    talk: Talk, emoji_gguf: Path, chats: Path, question: str, mark: str
) -> None:
    chats.mkdir(parents=True, mode=0o700)
    reply = "\n".join(f"line {number}" for number in range(2_345))
    records = [
        {"type": "message", "id": 1, "parent": None, "role": "user", "content": question},
        {"type": "message", "id": 2, "parent": 1, "role": "assistant", "content": reply},
    ]
    (chats / "long.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    chat = talk(emoji_gguf, "--resume", "long", rows=30)
    where = chat.lines().index("long: 2 messages")
    assert chat.lines()[where + 2] == mark
    assert chat.lines()[where + 4] == "[2,345 lines]"
    assert "line 7" not in chat.text()
    assert chat.say("/load long")[4] == "[2,345 lines]"
