"""Which editor of the user's is opened, and what comes back from it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from nextok.cli.chat.external_editor import ExternalEditor, command
from nextok.generation.errors import UsageError


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with two programs that do nothing."""
    for name in ("nano", "vi"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vim"}, ["code", "--wait"]),
        ({"VISUAL": "", "EDITOR": "'my editor' -n"}, ["my editor", "-n"]),
        ({"EDITOR": "it's"}, ["it's"]),
        ({}, ["nano"]),
    ],
)
def test_the_users_choice_comes_first(
    programs: Path, environ: dict[str, str], words: list[str]
) -> None:
    assert command({**environ, "PATH": str(programs)}) == words


def test_without_any_editor_it_is_said() -> None:
    with pytest.raises(UsageError, match="set EDITOR"):
        command({"PATH": "/nowhere"})


def edited(script: str, text: str) -> str:
    """What becomes of the text when this Python edits the file `path`."""
    program = f"import sys; from pathlib import Path; path = Path(sys.argv[1]); {script}"
    words = shlex.join([sys.executable, "-c", program])
    with open(os.devnull, "r+b") as nowhere:
        editor = ExternalEditor(
            {"EDITOR": words}, keyboard=nowhere.fileno(), output=nowhere.fileno()
        )
        return asyncio.run(editor.edited(text))


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("pass", "a\n世\t"),
        ("path.write_text(path.read_text() + chr(10))", "a\n世\t"),
        ("path.write_text(path.read_text() + chr(10) * 2)", "a\n世\t\n"),
        ("path.unlink(); path.write_bytes(bytes([97, 255]))", "a\ufffd"),
        ("path.write_text('lost'); sys.exit(1)", "a\n世\t"),
        ("path.write_text(oct(path.parent.stat().st_mode))", "0o40700"),
    ],
)
def test_the_text_comes_back_as_it_was_saved(script: str, text: str) -> None:
    assert edited(script, "a\n世\t") == text


def test_what_was_not_changed_keeps_its_line_end() -> None:
    assert edited("pass", "a\n\n") == "a\n\n"


@pytest.mark.parametrize(
    ("name", "why"), [("/no/editor", "No such file or directory"), (os.sep, "it is a folder")]
)
def test_a_program_that_does_not_start_is_named(name: str, why: str) -> None:
    editor = ExternalEditor({"EDITOR": name}, keyboard=0, output=1)
    with pytest.raises(UsageError, match=f"{name} does not start: {why}; set EDITOR"):
        asyncio.run(editor.edited("text"))
