"""`nextok search`: GGUF repositories by downloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

Ask = Callable[..., Any]


@pytest.fixture
def repos(hub: Any, emoji_gguf: Path) -> Any:
    """A hub with three repositories."""
    for name in ("one/Smol-GGUF", "two/smol-gguf", "three/Other-GGUF"):
        hub.add_repo(name, {"m-Q4_K_M.gguf": emoji_gguf})
    hub.clear()
    return hub


def test_the_object(ask: Ask, repos: Any) -> None:
    found = ask("search", "--json", "smol")
    assert (found.code, found.err) == (0, "")
    models = found.object["models"]
    assert {model["repo"] for model in models} == {"one/Smol-GGUF", "two/smol-gguf"}
    assert set(models[0]) >= {"repo", "downloads", "likes", "gated", "updated", "parameters"}


def test_one_request_says_what_is_wanted(ask: Ask, repos: Any) -> None:
    assert ask("search", "--limit", "7", "smol", "gguf").code == 0
    (hit,) = [hit for hit in repos.log if hit.path.startswith("/api/models")]
    asked = parse_qs(urlsplit(hit.path).query)
    assert asked["search"] == ["smol gguf"]
    assert asked["filter"] == ["gguf"]
    assert asked["sort"] == ["downloads"]
    assert asked["limit"] == ["7"]
    assert repos.log == [hit]


def test_a_pipe_gets_a_line_a_repository(ask: Ask, repos: Any) -> None:
    lines = ask("search", "smol").out.decode().splitlines()
    assert {line.split()[0] for line in lines} == {"one/Smol-GGUF", "two/smol-gguf"}


def test_nothing_found_is_no_error(ask: Ask, repos: Any) -> None:
    found = ask("search", "nothing-like-this")
    assert (found.code, found.out, found.err) == (0, b"", "")


def test_an_answer_of_junk_alone_is_said(ask: Ask, repos: Any) -> None:
    junk = b'[{"id": "no-slash"}, {"id": "../../etc/passwd"}]'
    repos.fault("/api/models", status=200, body=junk)
    ask("search", "smol").check_failed(1, "nothing usable found", "2 entries", "HF_ENDPOINT")
    repos.fault("/api/models", status=200, body=junk[:-1] + b', {"id": "a/b"}]')
    assert ask("search", "smol").out.startswith(b"a/b ")


def test_words_are_needed_and_limits_are_checked(ask: Ask, repos: Any) -> None:
    ask("search").check_failed(2, "say what to look for")
    ask("search", "--limit", "0", "x").check_failed(2, "--limit")
    assert repos.log == []


def test_errors_are_one_line(ask: Ask, repos: Any) -> None:
    repos.fault("/api/models", status=401, times=-1)
    ask("search", "smol").check_failed(1)
