"""Chats are found by what a person remembers of them, and none takes another's place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from nextok.backends.chat_file import ChatFile, ChatInUse
from nextok.backends.chat_folder import ChatFolder
from nextok.generation.errors import OutputError, UsageError

NOW = datetime(2026, 11, 29, 10, 30)
Say = Callable[..., None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state" / "chats"


@pytest.fixture
def folder(root: Path) -> ChatFolder:
    return ChatFolder(root)


@pytest.fixture
def say(folder: ChatFolder) -> Say:
    """`say(name, *texts, at=seconds, model=name)`: a chat, the user and the model in turn."""

    def make(name: str, *texts: str, at: float = 1000.0, model: str | None = "smol") -> None:
        path = folder.path(name)
        with ChatFile.create(path) as file:
            if model is not None:
                file.append({"type": "model", "name": model})
            for number, text in enumerate(texts):
                role = ("user", "assistant")[number % 2]
                file.append({"type": "message", "id": number, "role": role, "content": text})
        os.utime(path, (at, at))

    return make


# Names.


@pytest.mark.parametrize("name", ["sky", "Why is it blue?", "2026-11-29-x", "наука", "空", "a.b"])
def test_a_name_is_a_file(folder: ChatFolder, root: Path, name: str) -> None:
    assert folder.path(name) == root / f"{name}.jsonl"


@pytest.mark.parametrize(
    "name",
    ["", " ", "a ", "../a", "a/b", "a\\b", ".a", "-a", "a\nb", "a\0", "\x1b[31m", "\udcff"]
    + ["x" * 101, "空" * 70],
)
def test_a_name_that_is_none(folder: ChatFolder, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a chat: take up to 100 letters"):
        folder.path(name)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Why is the sky blue?", "why-is-the-sky-blue"),
        ("  What's `up`\n\nwith it\t", "what-s-up-with-it"),
        ("snake_case/../path", "snake-case-path"),
        ("Warum ist der Himmel blau, wenn das Licht der Sonne doch weiß ist?",
         "warum-ist-der-himmel-blau-wenn-das"),
        ("Почему небо голубое?", "почему-небо-голубое"),
        ("空はなぜ青い", "空はなぜ青い"),
        ("नमस्ते दुनिया", "नमस्ते-दुनिया"),
        ("cafe\u0301", "caf\u00e9"),
        ("\N{GRINNING FACE}\ufe0f ok", "ok"),
        ("x" * 5000, "x" * 40),
        ("", "chat"),
        ("?!", "chat"),
        ("\udcff\0", "chat"),
    ],
)  # fmt: skip
def test_a_new_name_is_the_date_and_the_first_words(
    folder: ChatFolder, words: str, name: str
) -> None:
    assert folder.new_name(words, NOW) == f"2026-11-29-{name}"


def test_any_script_gives_a_name_that_is_valid(folder: ChatFolder) -> None:
    for character in ("a", "\u00df", "空", "\U00020000", "\u0e01", "\u0928\u093f"):
        folder.path(folder.new_name(character * 200, NOW))


def test_a_new_name_is_free(folder: ChatFolder, say: Say) -> None:
    for expected in ("sky", "sky-2", "sky-3"):
        name = folder.new_name("Sky", NOW)
        assert name == f"2026-11-29-{expected}"
        say(name, "Sky")


# The list.


def test_a_folder_that_is_not_there_is_an_empty_one(folder: ChatFolder, root: Path) -> None:
    assert list(folder.list()) == []
    assert folder.last() is None
    assert list(folder.search(["sky"])) == []
    assert not root.exists()
    with pytest.raises(UsageError, match="no chat is called 'sky': none is saved yet"):
        folder.find("sky")


def test_the_list(folder: ChatFolder, root: Path, say: Say) -> None:
    say("old", "Why?\n  And how? " + "x" * 100, "Because.", at=1000.0, model="smol")
    say("new", "", at=2000.0, model=None)
    old, new = reversed(folder.list())
    assert (old.name, old.title) == ("old", "Why? And how? " + "x" * 45 + "…")
    assert (old.messages, old.model, old.modified) == (2, "smol", 1000.0)
    assert old.size_bytes == (root / "old.jsonl").stat().st_size
    assert (new.name, new.title, new.messages, new.model) == ("new", "", 1, None)
    assert folder.last() == "new"
    os.utime(root / "old.jsonl", (3000.0, 3000.0))
    assert folder.last() == "old"


def test_the_last_model_and_the_first_thing_the_user_said(
    folder: ChatFolder, root: Path, say: Say
) -> None:
    say("sky", "Why?", "Because.")
    with ChatFile.open(root / "sky.jsonl") as file:
        file.append({"type": "model", "name": "gemma"})
        file.append({"type": "message", "id": 3, "role": "user", "content": "Really?"})
        file.append({"type": "setting", "name": "temp", "value": "0"})
    (sky,) = folder.list()
    assert (sky.title, sky.messages, sky.model) == ("Why?", 3, "gemma")


def test_damage_does_not_hide_a_chat(folder: ChatFolder, root: Path, say: Say) -> None:
    say("sky", "Why?")
    with (root / "sky.jsonl").open("ab") as stream:
        stream.write(b'garbage\n\0\0\n{"type":"message","role":7}\n{"type":"model","name":[]}\n')
        stream.write(b'{"type":"message","ro')
    before = (root / "sky.jsonl").read_bytes()
    (sky,) = folder.list()
    assert (sky.title, sky.messages, sky.model) == ("Why?", 2, None)
    assert [match.line for match in folder.search(["why"])] == ["Why?"]
    assert (root / "sky.jsonl").read_bytes() == before


def test_other_files_are_no_chats(folder: ChatFolder, root: Path, say: Say) -> None:
    say("sky", "Why?")
    for name in ("sky.jsonl.bak", "notes.txt", ".hidden.jsonl", ".x.draft", "-x.jsonl"):
        (root / name).write_bytes(b"{}\n")
    (root / "folder.jsonl").mkdir()
    os.mkfifo(root / "pipe.jsonl")
    (root / "lost.jsonl").symlink_to(root / "nowhere")
    assert [chat.name for chat in folder.list()] == ["sky"]
    assert folder.last() == "sky"


# Finding.


@pytest.fixture
def three(folder: ChatFolder, say: Say) -> None:
    say("2026-11-27-bread", "How do I bake bread?", at=1000.0)
    say("2026-11-28-why-is-the-sky-blue", "Why is the sky blue?", at=2000.0)
    say("2026-11-29-sky-at-night", "The sky at night", at=3000.0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2026-11-27-bread", "2026-11-27-bread"),
        ("bread", "2026-11-27-bread"),
        ("BREAD", "2026-11-27-bread"),
        ("11-28", "2026-11-28-why-is-the-sky-blue"),
        ("sky blue", "2026-11-28-why-is-the-sky-blue"),
        (" night ", "2026-11-29-sky-at-night"),
    ],
)
def test_a_part_of_the_name_is_enough(
    folder: ChatFolder, three: None, text: str, name: str
) -> None:
    assert folder.find(text) == name


def test_a_part_of_several_names_them(folder: ChatFolder, three: None) -> None:
    with pytest.raises(UsageError) as caught:
        folder.find("sky")
    assert str(caught.value) == (
        "'sky' may be any of the chats 2026-11-29-sky-at-night,"
        " 2026-11-28-why-is-the-sky-blue: name one of them whole"
    )
    with pytest.raises(UsageError, match="may be any|no chat is called"):
        folder.find("")


def test_the_nearest_are_named(folder: ChatFolder, three: None) -> None:
    with pytest.raises(UsageError, match="called 'braed': the nearest are 2026-11-27-bread, "):
        folder.find("braed")


def test_a_whole_name_goes_before_a_part(folder: ChatFolder, say: Say) -> None:
    say("sky", "one")
    say("sky blue", "two")
    say("sky-blue", "three")
    assert folder.find("sky") == "sky"
    assert folder.find("SKY") == "sky"
    assert folder.find("sky-blue") == "sky-blue"
    assert folder.find("sky blue") == "sky blue"
    with pytest.raises(UsageError, match="may be any"):
        folder.find("Sky Blue")


def test_a_name_is_found_however_its_letters_are_composed(folder: ChatFolder, say: Say) -> None:
    say("cafe\u0301", "one")
    assert folder.find("caf\u00e9") == "cafe\u0301"


# Searching.


def test_search_finds_messages_with_all_the_words(folder: ChatFolder, say: Say) -> None:
    say("old", "Why is the\nSKY  blue?\nTell me.", "The sky scatters blue light.", at=1000.0)
    say("new", "A blue car", "and the skyline", at=2000.0)
    found = list(folder.search(["sky", "Blue"]))
    assert [(match.name, match.role, match.line) for match in found] == [
        ("old", "user", "SKY blue?"),
        ("old", "assistant", "The sky scatters blue light."),
    ]
    assert found[0].modified == 1000.0
    assert [match.name for match in folder.search(["blue"])] == ["new", "old", "old"]
    assert list(folder.search(["green"])) == []


def test_search_knows_every_script(folder: ChatFolder, say: Say) -> None:
    say("one", "Die Straße ist naß", "ПОЧЕМУ небо", '"quoted"\tand \ud83d')
    for word in ("strasse", "почему", '"quoted"', "\ud83d"):
        assert len(list(folder.search([word]))) == 1, word


def test_a_long_line_is_shown_around_the_word(folder: ChatFolder, say: Say) -> None:
    say("one", "a " * 500 + "needle" + " b" * 500)
    (match,) = folder.search(["needle"])
    assert 95 < len(match.line) <= 100
    assert match.line.startswith("…") and match.line.endswith("…") and " needle " in match.line


# Other names, and none.


def test_rename(folder: ChatFolder, root: Path, three: None) -> None:
    old, other, _ = (chat.name for chat in folder.list())
    before = (root / f"{old}.jsonl").read_bytes()
    folder.rename(old, "the night sky")
    assert (root / "the night sky.jsonl").read_bytes() == before
    assert not (root / f"{old}.jsonl").exists()
    with pytest.raises(UsageError, match=f"there is a chat {other} already"):
        folder.rename("the night sky", other)
    with pytest.raises(UsageError, match="there is no chat nothing"):
        folder.rename("nothing", "something")
    with pytest.raises(UsageError, match="cannot name a chat"):
        folder.rename("the night sky", "../sky")
    assert len(folder.list()) == 3


def test_delete(folder: ChatFolder, root: Path, three: None) -> None:
    (root / "2026-11-27-bread.jsonl.bak").write_bytes(b"old")
    folder.delete("2026-11-27-bread")
    assert len(folder.list()) == 2
    assert not (root / "2026-11-27-bread.jsonl.bak").exists()
    with pytest.raises(UsageError, match="there is no chat 2026-11-27-bread: see the list"):
        folder.delete("2026-11-27-bread")


def test_what_a_newer_version_wrote_can_be_deleted(folder: ChatFolder, root: Path) -> None:
    root.mkdir(parents=True)
    (root / "new.jsonl").write_bytes(b'{"type":"chat","version":9}\n')
    with pytest.raises(UsageError, match="made by a newer nextok"):
        folder.rename("new", "old")
    folder.delete("new")
    assert list(root.iterdir()) == []


def test_an_open_chat_is_neither_renamed_nor_deleted(folder: ChatFolder, say: Say) -> None:
    say("sky", "Why?")
    with ChatFile.open(folder.path("sky")):
        with pytest.raises(ChatInUse):
            folder.rename("sky", "other")
        with pytest.raises(ChatInUse):
            folder.delete("sky")
    folder.rename("sky", "other")


def test_where_there_are_no_links_a_rename_is_as_careful(
    monkeypatch: pytest.MonkeyPatch, folder: ChatFolder, say: Say
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    say("sky", "Why?")
    say("other", "Why not?")
    with pytest.raises(UsageError, match="there is a chat other already"):
        folder.rename("sky", "other")
    folder.rename("sky", "third")
    assert sorted(chat.name for chat in folder.list()) == ["other", "third"]
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OutputError, match="Operation not permitted"):
        folder.rename("third", "fourth")


def test_nobody_else_can_look_in(root: Path, say: Say) -> None:
    say("sky", "Why?")
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()] == [0o600]
