"""A private chat leaves nothing behind: no file, no input, no figures, no state."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.arguments import parse
from nextok.cli.config_file import ConfigFile
from nextok.cli.privacy import keeps_chats
from nextok.cli.resolution import Resolved, resolve
from nextok.generation.errors import UsageError

LONG = "words " * 80
"""More tokens than a state must have to be worth keeping."""

Talk = Callable[..., Any]


def kept() -> list[str]:
    """The files of what is kept, but for what is known of model files."""
    folders = [Path(os.environ[f"XDG_{name}_HOME"]) / "nextok" for name in ("STATE", "CACHE")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if path.name != "checked-models.json")


def test_an_ordinary_chat_leaves_something_of_every_kind(talk: Talk, emoji_gguf: Path) -> None:
    """Else the next test would be true of a chat that keeps nothing anyway."""
    chat = talk(emoji_gguf)
    chat.say(LONG)
    assert chat.leave() == 0
    kinds = {"history", "journal.sqlite"}
    files = kept()
    assert kinds <= set(files)
    assert any(name.endswith(".jsonl") for name in files)
    assert any(name.endswith(".kv") for name in files)


@pytest.mark.parametrize("how", ["flag", "config"])
def test_a_private_one_leaves_nothing(
    talk: Talk, emoji_gguf: Path, tmp_path: Path, how: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[defaults]\nprivate = true\nsave = true\n" if how == "config" else "")
    flags = ["--private"] if how == "flag" else []
    chat = talk(emoji_gguf, *flags, NEXTOK_CONFIG=str(config))
    assert "Hi 😀 bye" in "\n".join(chat.say(LONG))
    assert "this chat is private" in "\n".join(chat.say("/save mine"))
    chat.say("/new")
    chat.say(LONG)
    chat.key("up")  # what was typed is recalled while it goes on
    chat.wait_until(lambda: "words words" in "\n".join(chat.lines()[-4:]))
    chat.key("ctrl-u")
    assert chat.leave() == 0
    assert kept() == []


def settings(*argv: str, environ: dict[str, str] | None = None) -> Resolved:
    file = ConfigFile(path="/nowhere", defaults={"private": True})
    return resolve("chat", parse(list(argv), "chat").values, environ or {}, file)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("--save",), "--save"),
        (("--private", "--save"), "--save"),
        (("-C",), "--continue"),
        (("--resume", "x"), "--resume"),
    ],
)
def test_what_cannot_be_kept_cannot_be_asked_for(argv: tuple[str, ...], name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name} keeps a chat.*--no-private"):
        keeps_chats(settings(*argv))


def test_a_setting_that_chats_are_kept_gives_way() -> None:
    assert keeps_chats(settings(environ={"NEXTOK_SAVE": "1"})) is False
    assert keeps_chats(settings("--no-save")) is False
    assert keeps_chats(settings("--no-private", "--save")) is True


def test_the_command_line_says_so_before_a_model_is_loaded(capfd: Any, emoji_gguf: Path) -> None:
    """Both ways to a chat: a conversation, and a single answer that is kept."""
    from nextok.cli.app import run
    from nextok.cli.start import Start

    for command in ("chat", "generate"):
        argv = [command, "-m", "/nowhere.gguf", "--private", "--save", "--no-stdin", "hi"]
        argv = [word for word in argv if (command, word) != ("chat", "--no-stdin")]
        assert run(argv, Start(at=0.0)) == 2
        assert "--save keeps a chat" in capfd.readouterr().err
