"""`nextok forget`: what nextok keeps goes away for good, and nothing else does."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.chat_file import ChatFile
from nextok.backends.journal import Journal, LoggedText, Row
from nextok.backends.kv_store import KvStore

SECRET = b"a-secret-nobody-may-find"

Ask = Callable[..., Any]
Terminal = Callable[..., Any]


@pytest.fixture
def kept(state_folder: Path) -> Path:
    """Something of every kind, each with the secret in it; the folder above all of them."""
    secret = SECRET.decode()
    text = LoggedText(prompt=secret, answer=secret)
    row = Row(
        ended_at=1.0, command="chat", model="m", finish="eos", version="1", text=text,
    )  # fmt: skip
    assert Journal(state_folder / "journal.sqlite").add(row)
    message = {"type": "message", "id": 1, "parent": None, "role": "user", "content": secret}
    for name in ("one", "two"):
        with ChatFile.create(state_folder / "chats" / f"{name}.jsonl") as file:
            file.append(message)
    (state_folder / "chats" / "one.jsonl.bak").write_bytes(SECRET)
    (state_folder / "history").write_bytes(b'"' + SECRET + b'"\n')
    store = KvStore(Path(os.environ["XDG_CACHE_HOME"]) / "nextok" / "kv", cap_bytes=1 << 20)
    assert store.put("chat-one", "identity", [1, 2, 3], SECRET)
    (state_folder / "checked-models.json").write_text("{}")
    return Path(os.environ["HOME"])


def found(home: Path) -> list[str]:
    """The files that have the secret in them."""
    paths = [path for path in home.rglob("*") if path.is_file()]
    return sorted(path.name for path in paths if SECRET in path.read_bytes())


def test_an_interrupt_at_the_question_ends_its_line(terminal: Terminal, kept: Path) -> None:
    child = terminal("forget", "journal")
    child.expect_exact("[y/N] ")
    child.sendintr()
    assert child.rest().replace("^C", "") == "\r\n"
    assert child.signalstatus == signal.SIGINT


def test_another_programs_file_is_not_taken_away(ask_alone: Ask, state_folder: Path) -> None:
    path = state_folder / "journal.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    done = ask_alone("forget", "journal", "-y")
    done.check_failed(1, "journal.sqlite is another program's file, and stays")
    assert path.read_bytes() == before


def sizes(ask_alone: Ask) -> dict[str, str]:
    told = ask_alone("info", "--json").object
    names = ("journal", "saved chats", "input history", "KV states")
    return {name: told[name].rpartition("(")[2].rstrip(")") for name in names}


def test_all_of_it(ask_alone: Ask, kept: Path, state_folder: Path) -> None:
    assert len(found(kept)) >= 6
    assert "not there yet" not in sizes(ask_alone).values()
    done = ask_alone("forget", "--all", "--yes")
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert found(kept) == []
    assert set(sizes(ask_alone).values()) <= {"0 bytes", "not there yet"}
    assert (state_folder / "checked-models.json").exists()
    again = ask_alone("forget", "--all")
    assert (again.code, again.out, again.err) == (0, b"", "")


@pytest.mark.parametrize(
    ("words", "stay"),
    [
        (("journal",), {"chats", "history", "states"}),
        (("chats", "history"), {"journal", "states"}),
        (("states", "states"), {"journal", "chats", "history"}),
    ],
)
def test_what_is_named(ask_alone: Ask, kept: Path, words: tuple[str, ...], stay: set[str]) -> None:
    assert ask_alone("forget", *words, "-y").code == 0
    left = ask_alone("forget").out.decode().splitlines()
    assert {line.split()[0] for line in left} == stay


def test_without_a_word_a_script_gets_the_list(ask_alone: Ask, kept: Path) -> None:
    before = found(kept)
    listed = ask_alone("forget")
    assert (listed.code, listed.err) == (0, "")
    lines = [line.split() for line in listed.out.decode().splitlines()]
    assert [line[0] for line in lines] == ["journal", "chats", "history", "states"]
    assert lines[2][1:3] == [str(len(SECRET) + 3), "bytes"]
    assert lines[0][-1].endswith("nextok/journal.sqlite")
    assert found(kept) == before


def test_a_script_is_told_the_command(ask_alone: Ask, kept: Path) -> None:
    before = found(kept)
    asked = ask_alone("forget", "journal", "chats")
    assert asked.code == 2
    asked.check_line("error", "Forget all of this", "nextok forget journal chats --yes")
    assert ask_alone("forget", "--all").code == 2
    assert found(kept) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("jurnal",), ("nothing called jurnal", "did you mean journal?")),
        (("models",), ("nothing called models", "journal, chats, history, states")),
        (("--yes",), ("--all --yes",)),
        (("--all", "chats"), ("leave out 'chats'",)),
    ],
)
def test_what_cannot_be_meant(
    ask_alone: Ask, kept: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    ask_alone("forget", *arguments).check_failed(2, *words)
    assert len(found(kept)) >= 6


def test_a_terminal_is_asked_for_each(terminal: Terminal, kept: Path, ask_alone: Ask) -> None:
    child = terminal("forget", "--color", "never")
    answers = {"the journal of generations": "y", "saved chats": "n", "the input history": "y"}
    for what, answer in answers.items():
        child.expect(rf"Forget {what}\? \[y/N\] ")
        child.sendline(answer)
    child.expect(r"Forget KV states\? \[y/N\] ")
    child.sendline("")
    assert "forgotten: the journal of generations, the input history" in child.rest()
    left = ask_alone("forget").out.decode().splitlines()
    assert [line.split()[0] for line in left] == ["chats", "states"]


def test_a_chat_that_goes_on_stays(ask_alone: Ask, kept: Path, state_folder: Path) -> None:
    with ChatFile.open(state_folder / "chats" / "two.jsonl"):
        done = ask_alone("forget", "--all", "-y")
    assert done.code == 1
    done.check_line("error", "two", "open in")
    assert found(kept) == ["two.jsonl"]
    assert ask_alone("forget", "chats", "-y").code == 0
    assert found(kept) == []


def test_a_history_elsewhere_goes_too(ask_alone: Ask, kept: Path, state_folder: Path) -> None:
    elsewhere = kept / "synced-history"
    (state_folder / "history").rename(elsewhere)
    (state_folder / "history").symlink_to(elsewhere)
    assert ask_alone("forget", "history", "-y").code == 0
    assert not elsewhere.exists()


def test_nothing_is_kept_nothing_to_forget(ask_alone: Ask) -> None:
    for arguments in ((), ("--all",), ("journal",)):
        done = ask_alone("forget", *arguments)
        assert (done.code, done.out, done.err) == (0, b"", "")
