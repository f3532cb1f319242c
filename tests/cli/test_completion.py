"""What a shell is told when somebody presses TAB."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.cli.commands import COMMANDS
from nextok.cli.completion import complete_model

from .conftest import SCRIPT, Run

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(nextok: Run) -> Complete:
    """`complete("generate", "--te")`: the offers for the last word, as bash gets them."""

    def ask(*words: str, cwd: Path | None = None) -> list[str]:
        line = " ".join(["nextok", *words])
        ran = nextok(
            env={
                "_NEXTOK_COMPLETE": "complete_bash",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(words)),
            },
            cwd=cwd,
        )
        assert (ran.code, ran.err) == (0, "")
        return ran.out.split("\n")[:-1] if ran.out.strip() else []

    return ask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with models in it."""
    (tmp_path / "x.gguf").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden.gguf").touch()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "my model.gguf").touch()
    return tmp_path


def test_commands_are_offered(complete: Complete) -> None:
    assert complete("ge") == ["generate"]
    assert complete("") == [command.name for command in COMMANDS]


def test_flags_are_offered_with_and_without_the_command(complete: Complete) -> None:
    assert complete("generate", "--te") == ["--temp", "--temperature"]
    assert complete("gen", "hi", "--te") == ["--temp", "--temperature"]
    assert complete("--te") == ["--temp", "--temperature"]
    assert complete("hi", "--no-mm") == ["--no-mmap"]
    assert complete("show", "--te") == []
    assert "--version" in complete("--v")


def test_values_are_offered(complete: Complete) -> None:
    assert complete("hi", "--color", "a") == ["auto", "always"]
    assert complete("--flash-attn", "o") == ["on", "off"]


def test_models_are_offered(
    complete: Complete, folder: Path, config_file: Callable[[str], Path], starter_gguf: Path
) -> None:
    config_file('[aliases]\ntiny = "x.gguf"\n')
    assert complete("-m", "./x", cwd=folder) == ["./x.gguf"]
    named = ["tiny", "toy", starter_gguf.stem]
    assert complete("generate", "--model", "", cwd=folder) == [*named, "models/", "x.gguf"]
    assert complete("-m", "t", cwd=folder) == ["tiny", "toy"]
    assert complete("show", "models/m", cwd=folder) == ["models/my model.gguf"]


def test_a_broken_config_file_does_not_spoil_a_tab(
    folder: Path,
    config_file: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    starter_gguf: Path,
) -> None:
    config_file("[[[")
    monkeypatch.chdir(folder)
    assert complete_model("") == ["toy", starter_gguf.stem, "models/", "x.gguf"]
    assert complete_model(".h") == [".hidden.gguf"]
    assert complete_model("/nowhere/") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_in_their_own_way(nextok: Run, shell: str) -> None:
    ran = nextok(
        env={
            "_NEXTOK_COMPLETE": f"complete_{shell}",
            "_TYPER_COMPLETE_ARGS": "nextok inf",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
    )
    assert (ran.code, ran.err) == (0, "")
    assert "info" in ran.out and "Print versions" in ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_typers(nextok: Run, shell: str) -> None:
    detection = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = nextok("--show-completion", shell, env=detection)
    assert (ran.code, ran.err) == (0, "")
    assert f"_NEXTOK_COMPLETE=complete_{shell}" in ran.out


def test_installing_says_where(nextok: Run) -> None:
    detection = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = nextok("--install-completion", "fish", env=detection)
    assert ran.code == 0
    assert "completion installed in" in ran.out


@pytest.mark.parametrize(
    "variables",
    [{}, {"COMP_WORDS": "nextok g"}, {"COMP_WORDS": "nextok g", "COMP_CWORD": "abc"}],
)  # fmt: skip
def test_a_question_that_is_none_is_not_answered(nextok: Run, variables: dict[str, str]) -> None:
    ran = nextok("x", env={"_NEXTOK_COMPLETE": "complete_bash", **variables})
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_a_script_for_nobody_ends_like_any_writer_to_a_closed_pipe() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    detection = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = subprocess.run(
        [SCRIPT, "--show-completion", "bash"], stdout=writer, stderr=subprocess.PIPE,
        env={**os.environ, **detection},
    )  # fmt: skip
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (-signal.SIGPIPE, b"")


def test_a_shell_nobody_knows_is_one_line(nextok: Run) -> None:
    detection = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = nextok("--show-completion", "cobol", env=detection)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("nextok: error: ") and ran.err.count("\n") == 1
