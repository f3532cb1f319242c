"""`nextok chats`: saved chats listed, searched, printed, renamed, deleted.

No name leaves the folder, and nothing that was said drives a terminal.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.chat_file import ChatFile

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60

Ask = Callable[..., Any]
Keep = Callable[..., Path]


@pytest.fixture
def keep(saved: Any) -> Keep:
    """`keep(name, "question", "answer", …, system=…, model=…)`: a chat on disk, newer than all."""
    made: list[Path] = []

    def write(name: str, *texts: str, system: str | None = None, model: str = "toy") -> Path:
        path = Path(saved.folder / f"{name}.jsonl")
        with ChatFile.create(path) as file:
            if system is not None:
                file.append({"type": "system", "text": system})
            file.append({"type": "model", "name": model})
            for number, text in enumerate(texts, 1):
                role = "user" if number % 2 else "assistant"
                message = {"id": number, "parent": number - 1 or None, "role": role}
                file.append({"type": "message", **message, "content": text})
        made.append(path)
        for place, one in enumerate(made):
            os.utime(one, (1_700_000_000 + place, 1_700_000_000 + place))
        return path

    return write


@pytest.fixture
def chats(ask_alone: Ask) -> Ask:
    def run(*arguments: str | Path, **options: Any) -> Any:
        return ask_alone("chats", *arguments, **options)

    return run


def kv_files() -> list[Path]:
    return list((Path(os.environ["XDG_CACHE_HOME"]) / "nextok" / "kv").glob("*"))


# Lists and searches.


def test_a_list_in_a_pipe(chats: Ask, keep: Keep, tmp_path: Path) -> None:
    keep("first", "Why is the\n\nsky blue?", "Because.", model=str(tmp_path / "Sky-1B.gguf"))
    keep("second one", "Hello", model="owner/Model-GGUF:Q4_K_M")
    done = chats()
    assert (done.code, done.err) == (0, "")
    rows = [line.split("  ") for line in done.out.decode().splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert [row[:2] for row in cells] == [["second one", "1"], ["first", "2"]]
    assert [row[-2:] for row in cells] == [
        ["owner/Model-GGUF:Q4_K_M", "Hello"],
        ["Sky-1B", "Why is the sky blue?"],
    ]


def test_a_list_as_an_object(chats: Ask, keep: Keep) -> None:
    path = keep("first", "Why?", "Because.", "Oh.")
    assert chats("--json").object == {
        "chats": [
            {
                "name": "first",
                "title": "Why?",
                "messages": 3,
                "model": "toy",
                "bytes": path.stat().st_size,
                "modified": "2023-11-14T22:13:20+00:00",
            }
        ]
    }


def test_a_list_on_a_terminal(terminal: Callable[..., Any], keep: Keep, state_folder: Path) -> None:
    keep("first", "Why?", "Because.")
    lines = terminal("chats", dimensions=(24, 100)).lines()
    assert lines[0].split() == ["name", "messages", "size", "last", "said", "model", "begins"]
    assert lines[-2].split()[:2] == ["first", "2"]
    assert lines[-1] == "1 chat"


def test_no_chats(chats: Ask) -> None:
    done = chats()
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert chats("--json").object == {"chats": []}


def test_words_are_searched(chats: Ask, keep: Keep) -> None:
    keep("foxes", "Tell me of foxes", "A Fox\nruns over the hill\nand is gone")
    keep("owls", "Tell me of owls", "An owl watches the fox")
    done = chats("FOX", "owl")
    assert (done.code, done.err) == (0, "")
    assert [line.split(None, 1) for line in done.out.decode().splitlines()] == [
        ["owls", "An owl watches the fox"]
    ]
    assert chats("hill", "--json").object == {
        "chats": [{"name": "foxes", "role": "assistant", "line": "runs over the hill"}]
    }
    done = chats("weasel")
    assert (done.code, done.out, done.err) == (1, b"", "")
    assert chats("weasel", "--json").object == {"chats": []}


# Printing.


def test_markdown_to_read(chats: Ask, keep: Keep) -> None:
    keep("sky", "Why\nso blue?", "Because *light* scatters.\n", "Oh.", system="Be brief.")
    done = chats("--export", "SK")
    assert (done.code, done.err) == (0, "")
    assert done.out.decode() == (
        "# Why\n\n## System\n\nBe brief.\n\n## You\n\nWhy\nso blue?\n\n"
        "## toy\n\nBecause *light* scatters.\n\n## You\n\nOh.\n"
    )


def test_json_to_go_on_with(chats: Ask, ask_alone: Ask, keep: Keep, emoji_gguf: Path) -> None:
    keep("sky", "Why?", "Because ü.", "And the sea?", system="Be brief.")
    done = chats("--export", "sky", "--format", "json")
    assert json.loads(done.out) == {
        "title": "Why?",
        "model": "toy",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": "Because ü."},
            {"role": "user", "content": "And the sea?"},
        ],
    }
    assert chats("--export", "sky", "--json").out == done.out
    assert b"## You" in chats("--export", "sky", "--json", "--format", "md").out
    answer = ask_alone("-m", emoji_gguf, "--messages", "-", input=done.out)
    assert (answer.code, answer.out) == (0, "Hi 😀 bye\n".encode())


def test_a_damaged_chat_is_printed_as_far_as_it_goes(chats: Ask, keep: Keep) -> None:
    path = keep("sky", "Why?", "Because.")
    path.write_bytes(path.read_bytes() + b"garbage\n")
    before = path.read_bytes()
    done = chats("--export", "sky")
    assert done.code == 0
    assert b"Because." in done.out
    done.check_line("warning", "sky: 1 damaged line left out (5)")
    assert path.read_bytes() == before


# Renaming and deleting.


def test_a_new_name(chats: Ask, keep: Keep, saved: Any) -> None:
    keep("old", "Why?", "Because.")
    keep("other", "What?")
    assert chats("--rename", "old", "a new name").code == 0
    assert sorted(saved.names()) == ["a new name", "other"]
    assert saved.said("a new name")[0] == ("user", "Why?")
    chats("--rename", "new", "other").check_failed(2, "there is a chat other already")
    chats("--rename", "nothing", "x").check_failed(2, "no chat is called")
    chats("--rename", "other").check_failed(2, "--rename takes the old and the new name")
    assert sorted(saved.names()) == ["a new name", "other"]


def test_what_was_read_goes_with_the_name(ask_alone: Ask, chats: Ask, scripted: Any) -> None:
    letters = scripted(["x", "y"], loop=True, stem="letters")
    chat = ("chat", "-m", letters, "-n", "80")
    assert ask_alone(*chat, input=b"sing\n").code == 0
    assert chats("--rename", "sing", "song").code == 0
    assert len(kv_files()) == 1
    last = ask_alone(*chat, "--resume", "song", "--jsonl", input=b"on\n").lines[-1]
    assert last["cached_tokens"] > 80
    assert chats("--delete", "song", "--yes").code == 0
    assert kv_files() == []


def test_deleting_is_agreed_to(
    chats: Ask, keep: Keep, saved: Any, terminal: Callable[..., Any]
) -> None:
    keep("first", "Why?")
    keep("second", "Why?")
    chats("--delete", "fir").check_failed(2, "Delete first?", "nextok chats --delete first --yes")
    screen = terminal("chats", "--delete", "fir")
    screen.expect("Delete first\\?")
    screen.sendline("n")
    screen.rest()
    assert screen.exitstatus == 1
    assert len(saved.names()) == 2
    screen = terminal("chats", "--delete", "fir")
    screen.expect("Delete first\\?")
    screen.sendline("y")
    assert "deleted first" in screen.rest()
    assert screen.exitstatus == 0
    assert saved.names() == ["second"]
    chats("--delete", "sec", "--yes").check_failed(2, "nextok chats --delete second --yes")
    assert chats("--delete", "second", "--yes").code == 0
    assert saved.names() == []


def test_a_chat_that_goes_on_is_left_alone(chats: Ask, keep: Keep, saved: Any) -> None:
    keep("first", "Why?", "Because.")
    command = [NEXTOK, "chat", "-t", "1", "-C"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write(b"go on\n")
        other.stdin.flush()
        assert other.stdout.read(1)
        chats("--delete", "first", "--yes").check_failed(2, f"open in process {other.pid}")
        chats("--rename", "first", "second").check_failed(2, f"open in process {other.pid}")
        assert chats("--export", "first").code == 0
        other.stdin.close()
        assert other.wait(timeout=HANG) == 0
    assert saved.names() == ["first"]


# What cannot be.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--export", "first", "--delete", "first"), "exclude each other"),
        (("--rename", "first", "second", "--export", "first"), "exclude each other"),
        (("--export", "first", "second"), "one chat at a time"),
        (("--export", "nothing"), "no chat is called 'nothing': the nearest are first"),
        (("--delete", "nothing", "--yes"), "no chat is called"),
        (("--export", ""), "--export"),
        (("--format", "json"), "--format goes with --export"),
        (("--export", "first", "--format", "pdf"), "--format must be"),
    ],
)
def test_usage_errors(
    chats: Ask, keep: Keep, saved: Any, arguments: tuple[str, ...], words: str
) -> None:
    keep("first", "Why?")
    chats(*arguments).check_failed(2, words)
    assert saved.names() == ["first"]


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "-f", "a\x1b[31mb", "x" * 300, " "])
def test_names_that_are_none(chats: Ask, keep: Keep, saved: Any, name: str) -> None:
    keep("first", "Why?")
    done = chats("--rename", "--", "first", name)
    done.check_failed(2, "cannot name a chat")
    assert "\x1b" not in done.err
    done = chats(f"--delete={name}", "--yes")
    assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
    assert "\x1b" not in done.err
    assert saved.names() == ["first"]


def test_nothing_that_was_said_drives_a_terminal(
    terminal: Callable[..., Any], chats: Ask, keep: Keep, saved: Any
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202eyes"
    path = keep("second", evil, evil, model=f"m{evil}", system=evil)
    shutil.copy(path, path.with_name("a\x1b[2Jb.jsonl"))
    assert saved.names() == ["second"], "the other has no name at all"
    for arguments in ((), ("yes",), ("--export", "second")):
        shown = terminal("chats", "--color", "never", *arguments, dimensions=(24, 200)).rest()
        assert "owned" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert evil.encode() in chats("--export", "second").out, "piped bytes stay exact"


def test_times_are_read_back(chats: Ask, keep: Keep) -> None:
    keep("first", "Why?")
    (one,) = chats("--json").object["chats"]
    assert datetime.fromisoformat(one["modified"]).tzinfo is not None
