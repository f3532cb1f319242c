"""The cache where the file system has no links: the life of a model there, other tools included."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NEXTOK = str(Path(sys.executable).with_name("nextok"))
LAUNCHER = str(Path(__file__).parents[1] / "without_links.py")
REPO = "owner/Emoji-GGUF"
REF = f"{REPO}:Q4_K_M"
FILE = "Emoji-Q4_K_M.gguf"
ANSWER = "Hi \N{GRINNING FACE} bye\n".encode()
THEIRS = """
import sys
from huggingface_hub import hf_hub_download
print(hf_hub_download(*sys.argv[1:3]))
"""

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run() -> Run:
    """`run(command...)`: a process that can make no links."""
    first = subprocess.run([sys.executable, LAUNCHER, "true"], capture_output=True, timeout=60)
    if first.returncode:
        pytest.skip("links cannot be refused here")

    def start(*command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, LAUNCHER, *command],
            env={**os.environ, "NEXTOK_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )

    return start


@pytest.fixture
def nextok(run: Run) -> Run:
    """The same for `nextok`, which must succeed."""

    def start(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        done = run(NEXTOK, *arguments)
        assert done.returncode == 0, done
        return done

    return start


@pytest.fixture
def path(hub: Any, nextok: Run, emoji_gguf: Path) -> Path:
    """A model that was pulled."""
    hub.add_repo(REPO, {FILE: emoji_gguf, "README.md": b"one"})
    return Path(nextok("pull", "-q", "--print-path", REF).stdout.decode().strip())


def files(cache: Path) -> list[Path]:
    """All but locks."""
    found = (path for path in cache.rglob("*") if path.is_file())
    return sorted(path for path in found if path.suffix != ".lock")


def test_a_model_is_kept_once_and_found(
    path: Path, nextok: Run, hub: Any, cache: Path, emoji_gguf: Path
) -> None:
    assert path.is_file() and not path.is_symlink()
    size = emoji_gguf.stat().st_size
    assert [found for found in files(cache) if found.stat().st_size >= size] == [path]
    hub.clear()
    assert nextok("-m", REF, "hi").stdout == ANSWER
    assert nextok("ls").stdout.startswith(REF.encode())
    assert hub.log == []
    nextok("pull", REF)
    assert hub.hits("GET /cdn/") == []


def test_huggingface_hub_and_we_share_it(path: Path, run: Run, nextok: Run, hub: Any) -> None:
    hub.clear()
    assert run(sys.executable, "-c", THEIRS, REPO, FILE).stdout.decode().strip() == str(path)
    assert hub.hits("GET /cdn/") == []
    nextok("rm", "-y", REF)
    assert run(sys.executable, "-c", THEIRS, REPO, FILE).stdout.decode().strip() == str(path)
    assert nextok("-m", REF, "hi").stdout == ANSWER
    assert nextok("verify", REF).stdout.split()[1] == b"readable"  # it keeps no sum
    nextok("pull", REF)
    assert nextok("verify", REF).stdout.split()[1] == b"right"
    assert len(hub.hits("GET /cdn/")) == 1


def test_what_is_wrong_is_seen_and_fetched_again(path: Path, run: Run, nextok: Run) -> None:
    assert nextok("verify", REF).stdout.split()[1] == b"right"
    right = path.read_bytes()
    path.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
    wrong = run(NEXTOK, "verify", REF)
    assert (wrong.returncode, wrong.stdout.split()[1]) == (1, b"WRONG")
    nextok("pull", REF)
    assert path.read_bytes() == right
    assert nextok("verify", REF).stdout.split()[1] == b"right"


def test_an_update_that_leaves_the_model_alone_costs_no_download(
    path: Path, nextok: Run, hub: Any, cache: Path, emoji_gguf: Path
) -> None:
    hub.add_repo(REPO, {FILE: emoji_gguf, "README.md": b"two"})
    hub.clear()
    new = Path(nextok("pull", "-q", "--print-path", REF).stdout.decode().strip())
    assert new != path and new.read_bytes() == emoji_gguf.read_bytes()
    assert hub.hits("GET /cdn/") == []
    assert list(cache.rglob(FILE)) == [new]
    assert nextok("-m", REF, "hi").stdout == ANSWER
    nextok("rm", "-y", REF)
    assert files(cache) == []


def test_old_revisions_and_models_go_without_a_trace(
    path: Path, nextok: Run, hub: Any, cache: Path, scripted: Callable[..., Path]
) -> None:
    hub.add_repo(REPO, {FILE: scripted(["newer"], stem="newer")})
    nextok("pull", "-q", REF)
    assert len(list(cache.rglob(FILE))) == 2
    nextok("prune", "-y")
    assert not path.exists()
    assert nextok("-m", REF, "hi").stdout == b"newer\n"
    nextok("rm", "-y", REF)
    assert files(cache) == []
