"""`nextok prune`: what interrupted downloads and updates left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPO = "owner/Emoji-GGUF"
REF = f"{REPO}:Q4_K_M"
FILE = "Emoji-Q4_K_M.gguf"

Ask = Callable[..., Any]
Terminal = Callable[..., Any]


@pytest.fixture
def orphan(pulled: Any, cache: Path) -> Path:
    """What another tool's download left, long ago."""
    blobs = cache / f"models--{REPO.replace('/', '--')}" / "blobs"
    path = blobs / f"{'a' * 64}.deadbeef.incomplete"
    path.write_bytes(b"GGUF" + bytes(5000))
    long_ago = time.time() - 90 * 86400
    os.utime(path, (long_ago, long_ago))
    return path


def test_nothing_to_do_is_no_error(ask: Ask, pulled: Any) -> None:
    pruned = ask("prune")
    assert (pruned.code, pruned.out, pruned.err) == (0, b"", "")


def test_a_script_is_told_the_command(ask: Ask, orphan: Path) -> None:
    asked = ask("prune")
    assert asked.code == 2
    assert asked.out.decode().startswith("part of another tool's download  4.9 KiB  owner/Emoji")
    asked.check_line("error", "frees 4.9 KiB", "nextok prune -y")
    assert orphan.exists()


def test_orphans_go_and_models_stay(ask: Ask, orphan: Path) -> None:
    assert ask("prune", "--yes").code == 0
    assert not orphan.exists()
    assert ask("-m", REF, "hi").code == 0


def test_a_download_under_way_is_left_alone(ask: Ask, orphan: Path) -> None:
    os.utime(orphan)
    assert ask("prune", "--yes").code == 0
    assert orphan.exists()


def test_old_revisions_go(
    ask: Ask, pulled: Any, cache: Path, scripted: Callable[..., Path]
) -> None:
    pulled.add_repo(REPO, {FILE: scripted(["newer"], stem="newer")})
    assert ask("pull", "-q", REF).code == 0
    whole = sum(1 for path in cache.rglob("blobs/*") if path.stat().st_size > 9999)
    assert whole == 2
    told = ask("prune").out.decode()
    assert told.startswith("old revision") and REPO in told
    assert ask("prune", "--yes").code == 0
    assert sum(1 for path in cache.rglob("blobs/*") if path.stat().st_size > 9999) == 1
    assert ask("-m", REF, "hi").out == b"newer\n"


def test_a_terminal_asks(terminal: Terminal, orphan: Path) -> None:
    for answer, gone in (("n", False), ("y", True)):
        child = terminal("prune")
        child.expect(r"Remove all of this\? That frees 4\.9 KiB\. \[y/N\] ")
        child.sendline(answer)
        child.rest()
        assert orphan.exists() is not gone
