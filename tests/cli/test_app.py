"""Which command a line means, what is imported for it, and how errors are told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.cli.app import check_spelling, describe, route
from nextok.cli.arguments import parse
from nextok.cli.commands import COMMANDS, find
from nextok.cli.exit_codes import code_of
from nextok.cli.spelling import distance, nearest
from nextok.generation.errors import ContextError, EngineError, ModelError, UsageError

from .conftest import SCRIPT, Run

HEAVY = {"numpy", "llama_cpp", "huggingface_hub", "jinja2", "typer", "platformdirs"}


def imported(*arguments: str) -> set[str]:
    """The modules a run imports."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    ).stderr
    return {line.split("|")[2].strip() for line in told.splitlines() if line.count("|") == 2}


@pytest.mark.parametrize(
    ("argv", "terminal", "routed"),
    [
        ([], True, ["chat"]),
        (["-m", "x", "--no-markdown"], True, ["chat", "-m", "x", "--no-markdown"]),
        (["-m", "x"], False, ["generate", "-m", "x"]),
        (["--temp", "hot"], True, ["generate", "--temp", "hot"]),
        (["--json"], True, ["generate", "--json"]),
        (["-f", "x"], True, ["generate", "-f", "x"]),
        (["-m", "x", "--help"], True, ["generate", "-m", "x", "--help"]),
        ([], False, ["generate"]),
        (["show", "x"], True, ["show", "x"]),
        (["gen", "x"], True, ["gen", "x"]),
        (["--help"], True, ["--help"]),
        (["--version"], True, ["--version"]),
        (["why?"], True, ["generate", "why?"]),
        (["--temp", "0", "why"], True, ["generate", "--temp", "0", "why"]),
        (["--", "show"], True, ["generate", "--", "show"]),
        (["show me"], True, ["generate", "show me"]),
        (["tell", "show"], True, ["generate", "tell", "show"]),
    ],
)
def test_what_a_line_means(argv: list[str], terminal: bool, routed: list[str]) -> None:
    assert route(argv, terminal=terminal) == routed


def test_version_imports_next_to_nothing() -> None:
    ours = {name for name in imported("--version") if name.startswith("nextok")}
    assert ours <= {"nextok", "nextok.cli", "nextok.cli.entry", "nextok.cli.version"}
    assert not imported("--version") & {*HEAVY, "rich", "dataclasses", "importlib.metadata"}


@pytest.mark.parametrize("argv", [["--temprature", "1"], ["show", "a", "b"], ["hi", "-n", "x"]])
def test_a_usage_error_imports_nothing_heavy(argv: list[str]) -> None:
    names = imported(*argv)
    assert "nextok.cli.app" in names
    assert not names & {*HEAVY, "rich"}
    assert not names & {command.module for command in COMMANDS}


@pytest.mark.parametrize("argv", [["--help"], ["generate", "--help"], ["-m", "x", "--help"]])
def test_help_imports_no_command(argv: list[str]) -> None:
    names = imported(*argv)
    assert "rich.console" in names
    assert not names & {*HEAVY, "pygments", "markdown_it"}
    assert not names & {command.module for command in COMMANDS}


def test_help_is_for_people(nextok: Run) -> None:
    ran = nextok("--help")
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: nextok" in ran.out and "╭─ Commands" in ran.out
    assert all(f"│ {command.name}" in ran.out for command in COMMANDS)
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "\x1b" not in ran.out


def test_help_in_ascii_where_the_terminal_has_no_more(nextok: Run) -> None:
    ran = nextok("--help", env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
    assert (ran.code, ran.err) == (0, "")
    assert "╭─ Commands" in ran.out  # a pipe is UTF-8 in every locale


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_has_its_page(nextok: Run, command: str) -> None:
    ran = nextok(command, "-h")
    assert ran.code == 0
    assert f"Usage: nextok {command}" in ran.out and "--debug" in ran.out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--temprature", "1"], "there is no option --temprature: did you mean --temperature?"),
        (["shwo"], "there is no command shwo: did you mean show? "
         "(as a prompt: nextok generate shwo)"),
        (["-q", "shw"], "there is no command shw: did you mean show? "
         "(as a prompt: nextok generate shw)"),
        (["show", "my", "model"], "`nextok show` takes one MODEL, not 2 words: quote what belongs "
         'together ("my model")'),
        (["info", "x"], "`nextok info` takes no words, only options: 'x'"),
        (["hi", "-p", "hi"], "the prompt is given twice, with -p and as an argument: choose one"),
        (["hi", "--top-p", "2"], "--top-p must be a number from 0 to 1, not '2'"),
        (["\x1b[31m", "--\x1b"], "there is no option --␛"),
    ],
)  # fmt: skip
def test_a_usage_error_is_one_line(nextok: Run, argv: list[str], message: str) -> None:
    ran = nextok(*argv)
    assert (ran.code, ran.out, ran.err) == (2, "", f"nextok: error: {message}\n")


@pytest.mark.parametrize(
    "argv",
    [["hi", "--json", "--temp", "999"], ["--jsonl", "--nonsense"], ["--json", "--jsonl", "x"]],
)
def test_who_asks_for_json_gets_failures_in_it_too(nextok: Run, argv: list[str]) -> None:
    ran = nextok(*argv)
    failure = json.loads(ran.out)
    assert (ran.code, failure["code"]) == (2, 2)
    assert ran.err == f"nextok: error: {failure['error']}\n"


@pytest.mark.parametrize("argv", [["in"], ["--", "inf"], ["inf", "o"], ["inf "], ["-p", "inf"]])
def test_short_words_and_what_follows_dashes_are_prompts(argv: list[str]) -> None:
    check_spelling(parse(argv, "generate"))


def test_a_bad_variable_is_told_before_anything_runs(nextok: Run) -> None:
    ran = nextok("hi", env={"NEXTOK_TEMP": "hot"})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "nextok: error: NEXTOK_TEMP must be a number from 0 to 100, not 'hot'\n"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UsageError("u"), 2, "u"),
        (ContextError("c"), 3, "c"),
        (ModelError("m"), 1, "m"),
        (EngineError("e"), 1, "e"),
        (BrokenPipeError(), 141, ""),
        (KeyboardInterrupt(), 130, ""),
        (FileNotFoundError(2, "No such file or directory", "x"), 1, "x: No such file or directory"),
        (MemoryError(), 1, "out of memory"),
        (KeyError("k"), 1, "internal error: KeyError: 'k' (run again with --debug)"),
    ],
)
def test_errors_have_codes_and_words(error: BaseException, code: int, text: str) -> None:
    assert code_of(error) == code
    if text:
        assert describe(error) == text


def test_a_traceback_is_only_for_who_asks(nextok: Run, config_file: Callable[[str], Path]) -> None:
    config_file("[nonsense]\n")
    quiet, loud = nextok("config"), nextok("config", "--debug")
    assert quiet.err.count("\n") == 1 and "Traceback" not in quiet.err
    assert "Traceback" in loud.err and loud.err.endswith(quiet.err)


def test_a_slip_is_one_letter_or_a_swap() -> None:
    words = ("tokens", "token", "toknes", "tolens", "abc")
    assert [distance(word, "tokens") for word in words] == [0, 1, 1, 1, 6]
    assert nearest("rend", ["render", "show"]) == "render"
    assert nearest("zzz", ["render", "show"]) is None


def test_aliases_are_commands() -> None:
    assert find("gen") is find("generate")
    assert find("nothing") is None
