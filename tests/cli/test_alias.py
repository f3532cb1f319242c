"""`nextok alias` and `nextok default`: names that last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
ConfigFile = Callable[[str], Path]


def test_an_alias_runs(ask: Ask, config_file: ConfigFile, emoji_gguf: Path) -> None:
    path = config_file("# kept\n")
    made = ask("alias", "smile", emoji_gguf)
    assert (made.code, made.out, made.err) == (0, b"", "")
    assert path.read_text() == f'# kept\n\n[aliases]\nsmile = "{emoji_gguf}"\n'
    assert ask("-m", "smile", "hi").out == "Hi 😀 bye\n".encode()


def test_a_relative_path_is_found_from_everywhere(
    ask: Ask, config_file: ConfigFile, emoji_gguf: Path, tmp_path: Path
) -> None:
    config_file("")
    assert ask("alias", "smile", emoji_gguf.name, cwd=emoji_gguf.parent).code == 0
    assert ask("-m", "smile", "hi", cwd=tmp_path).out == "Hi 😀 bye\n".encode()


def test_aliases_are_listed_and_told(ask: Ask, config_file: ConfigFile) -> None:
    config_file('[aliases]\nsmall = "owner/repo:Q8_0"\nb = "toy"\n')
    assert ask("alias").out == b"b      toy\nsmall  owner/repo:Q8_0\n"
    assert ask("alias", "small").out == b"owner/repo:Q8_0\n"
    ask("alias", "smal").check_failed(2, "there is no alias smal", "did you mean small?")


def test_a_hub_reference_is_written_in_its_one_form(ask: Ask, config_file: ConfigFile) -> None:
    path = config_file("")
    assert ask("alias", "small", "hf.co/owner/repo:Q8_0").code == 0
    assert 'small = "owner/repo:Q8_0"' in path.read_text()


def test_an_alias_of_an_alias_is_what_that_stands_for(ask: Ask, config_file: ConfigFile) -> None:
    path = config_file('[aliases]\nsmall = "owner/repo:Q8_0"\n')
    assert ask("alias", "tiny", "small").code == 0
    assert 'tiny = "owner/repo:Q8_0"' in path.read_text()


def test_an_alias_is_replaced_and_removed(ask: Ask, config_file: ConfigFile) -> None:
    path = config_file('[aliases]\na = "owner/one"  # the one\n')
    assert ask("alias", "a", "owner/two").code == 0
    assert path.read_text() == '[aliases]\na = "owner/two"  # the one\n'
    assert ask("alias", "--remove", "a").code == 0
    assert path.read_text() == "[aliases]\n"
    ask("alias", "--remove", "a").check_failed(2, "there is no alias a")
    ask("alias", "--remove").check_failed(2, "needs one name")


@pytest.mark.parametrize(
    "name", ["toy", "a.gguf", "own/er", "a:b", "x@y", "~x", ".hidden", "two words", ""]
)
def test_names_that_mean_something_else_are_refused(
    ask: Ask, config_file: ConfigFile, name: str
) -> None:
    path = config_file("")
    ask("alias", name, "owner/repo").check_failed(2, "cannot be an alias")
    assert path.read_text() == ""


@pytest.mark.parametrize("name", ["ls", "list", "gen", "generate", "config"])
def test_a_command_is_no_alias(ask: Ask, config_file: ConfigFile, name: str) -> None:
    path = config_file("")
    ask("alias", name, "owner/repo").check_failed(2, f"'{name}' cannot be an alias", "a command")
    assert path.read_text() == ""


def test_a_model_that_is_nowhere_is_refused(ask: Ask, config_file: ConfigFile) -> None:
    config_file("")
    ask("alias", "a", "./none.gguf").check_failed(2, "no such file")
    ask("alias", "a", "-").check_failed(2, "name a model")
    ask("alias", "a", "nobody").check_failed(1, "no model here is called 'nobody'")
    ask("alias", "a", "b", "c").check_failed(2, "takes NAME and REF")


def test_the_default_answers(ask: Ask, config_file: ConfigFile, emoji_gguf: Path) -> None:
    path = config_file("[defaults]\nthreads = 1\n")
    assert ask("default", emoji_gguf).code == 0
    assert path.read_text() == f'[defaults]\nthreads = 1\nmodel = "{emoji_gguf}"\n'
    assert ask("hi").out == "Hi 😀 bye\n".encode()
    assert ask("default").out.decode() == f"{emoji_gguf}\n"


def test_the_default_may_be_an_alias(ask: Ask, config_file: ConfigFile, emoji_gguf: Path) -> None:
    path = config_file(f'[aliases]\nsmile = "{emoji_gguf}"\n')
    assert ask("default", "smile").code == 0
    assert 'model = "smile"' in path.read_text()
    assert ask("hi").out == "Hi 😀 bye\n".encode()


def test_without_a_default_the_starter_is_named(
    ask: Ask, config_file: ConfigFile, starter_gguf: Path
) -> None:
    config_file("")
    assert ask("default").out.decode() == f"{starter_gguf}\n"


def test_a_default_that_is_nowhere_is_refused(ask: Ask, config_file: ConfigFile) -> None:
    path = config_file("")
    ask("default", "nobody").check_failed(1, "no model here is called 'nobody'")
    assert path.read_text() == ""
