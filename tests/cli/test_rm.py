"""`nextok rm`: says what it frees, asks, and keeps what others use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPO = "owner/Emoji-GGUF"
REF = f"{REPO}:Q4_K_M"
FILE = "Emoji-Q4_K_M.gguf"

Ask = Callable[..., Any]
Terminal = Callable[..., Any]


def files(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.stat().st_size > 99)


def test_a_script_is_told_the_command(ask: Ask, pulled: Any, cache: Path) -> None:
    before = files(cache)
    ask("rm", REF).check_failed(2, "frees 2.5 MiB", f"nextok rm --yes {REF}")
    assert files(cache) == before != []


def test_yes_removes_it(ask: Ask, pulled: Any, cache: Path) -> None:
    removed = ask("rm", "--yes", REF)
    assert (removed.code, removed.out, removed.err) == (0, b"", "")
    assert files(cache) == []
    ask("rm", "--yes", REF).check_failed(1, "no model here is called")
    ask("-m", REF, "hi").check_failed(1, "is not on disk")
    assert ask("--pull", "-q", "-m", REF, "hi").code == 0


def test_what_another_revision_uses_stays(
    ask: Ask, pulled: Any, cache: Path, emoji_gguf: Path
) -> None:
    pulled.add_repo(REPO, {FILE: emoji_gguf, "README.md": b"changed"}, rev="v2")
    assert ask("pull", "-q", f"{REPO}@v2:Q4_K_M").code == 0
    models = ask("ls", "--json").object["models"]
    names = [model["name"] for model in models if model["origin"] == "hub"]
    assert len(names) == 2
    asked = ask("rm", names[0])
    asked.check_failed(2, "frees 0 bytes", "used by other revisions")
    assert ask("rm", "-y", names[0]).code == 0
    assert ask("-m", REF, "hi").code == 0  # the other one has the short name now
    assert ask("rm", "-y", REF).code == 0
    assert files(cache) == []


def test_a_part_of_two_names_is_told_apart(ask: Ask, pulled: Any, emoji_gguf: Path) -> None:
    pulled.add_repo("owner/Other", {"emoji-Q8_0.gguf": emoji_gguf})
    assert ask("pull", "-q", "owner/Other").code == 0
    ask("rm", "owner").check_failed(2, "may be any of these", REF, "owner/Other:Q8_0")


def test_a_scripts_yes_is_for_a_whole_name(ask: Ask, pulled: Any, cache: Path) -> None:
    """A part of a name may mean another model tomorrow."""
    ask("rm", "--yes", "moji").check_failed(2, f"nextok rm --yes {REF}")
    assert files(cache) != []


def test_aliases_are_understood(
    ask: Ask, pulled: Any, cache: Path, config_file: Callable[[str], Path]
) -> None:
    config_file(f'[aliases]\nsmile = "{REF}"\n')
    assert ask("rm", "--yes", "smile").code == 0
    assert files(cache) == []


def test_what_is_not_ours_is_left(ask: Ask, starter_gguf: Path) -> None:
    ask("rm", "--yes", starter_gguf.stem).check_failed(1, "pip uninstall")
    assert starter_gguf.exists()
    ask("rm").check_failed(2, "nextok ls")
    ask("rm", "a", "b").check_failed(2)


@pytest.mark.parametrize(("answer", "gone"), [("y", True), ("", False), ("n", False)])
def test_a_terminal_asks(
    terminal: Terminal, pulled: Any, cache: Path, answer: str, gone: bool
) -> None:
    child = terminal("rm", REF)
    child.expect(r"That frees 2.5 MiB\. \[y/N\] ")
    child.sendline(answer)
    child.rest()
    assert child.exitstatus == (0 if gone else 1)
    assert (files(cache) == []) is gone
