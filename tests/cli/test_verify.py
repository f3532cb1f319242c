"""`nextok verify`: whether what is on disk still is what was fetched."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REF = "owner/Emoji-GGUF:Q4_K_M"

Ask = Callable[..., Any]


@pytest.fixture
def pulled(hub: Any, ask: Ask, emoji_gguf: Path) -> Path:
    """The one model of a hub that can be asked no more."""
    hub.add_repo("owner/Emoji-GGUF", {"Emoji-Q4_K_M.gguf": emoji_gguf})
    path = ask("pull", "-q", "--print-path", REF).out.decode().strip()
    hub.clear()
    hub.fault(".", status=500, times=-1)
    return Path(path)


def spoil(path: Path) -> None:
    """Change one bit of the last weight; a header tells nothing of it."""
    real = path.resolve()
    real.chmod(0o644)
    data = bytearray(real.read_bytes())
    data[-1] ^= 1
    real.write_bytes(data)


def test_what_was_fetched_is_right(ask: Ask, pulled: Path) -> None:
    verified = ask("verify", REF)
    assert (verified.code, verified.err) == (0, "")
    assert verified.out.decode().split()[:2] == [REF, "right"]
    assert ask("verify", pulled).out.decode().split()[1] == "right"


def test_one_bit_is_noticed(ask: Ask, pulled: Path) -> None:
    spoil(pulled)
    verified = ask("verify", REF)
    assert (verified.code, verified.err) == (1, "")
    assert verified.out.decode().split()[:2] == [REF, "WRONG"]
    assert f"nextok pull {REF} fetches them again" in verified.out.decode()


def repaired(ask: Ask, hub: Any, path: Path, *, said: bool = True) -> None:
    """A pull makes it right again, says so in one line, and has no more to do after that."""
    hub.clear()
    pulled = ask("pull", REF)
    assert pulled.code == 0
    warnings = [line for line in pulled.err.splitlines() if "warning" in line]
    assert [path.name in line and "damaged" in line for line in warnings] == [True] * said
    assert len(hub.hits("GET /cdn/")) == 1
    assert ask("verify", REF).out.decode().split()[:2] == [REF, "right"]
    assert ask("-m", REF, "hi").out == "Hi 😀 bye\n".encode()
    again = ask("pull", REF)
    assert (again.code, again.err) == (0, "")
    assert len(hub.hits("GET /cdn/")) == 1


@pytest.mark.parametrize("links", [True, False])
def test_what_is_wrong_is_fetched_again_by_pull(
    ask: Ask, hub: Any, pulled: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
        hub.clear()
        assert ask("rm", "-y", REF).code == ask("pull", "-q", REF).code == 0
    assert pulled.is_symlink() is links
    spoil(pulled)
    repaired(ask, hub, pulled)


def test_what_changed_without_a_trace_is_fetched_again_once_verify_saw_it(
    ask: Ask, hub: Any, pulled: Path
) -> None:
    """As a failing disk does: neither size nor time tell of it."""
    times = pulled.stat().st_atime_ns, pulled.stat().st_mtime_ns
    with pulled.resolve().open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    os.utime(pulled, ns=times)
    assert ask("verify", REF).code == 1
    repaired(ask, hub, pulled)


def test_a_cut_file_is_fetched_again_too(ask: Ask, hub: Any, pulled: Path) -> None:
    os.truncate(pulled, 5000)
    assert ask("verify", REF).code == 1
    repaired(ask, hub, pulled, said=False)


@pytest.mark.parametrize("links", [True, False])
def test_offline_a_wrong_file_is_said_to_be_wrong(
    ask: Ask, hub: Any, pulled: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be repaired, but nobody is told that it is there. A right one is read once."""
    if not links:
        monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
        hub.clear()
        assert ask("rm", "-y", REF).code == ask("pull", "-q", REF).code == 0
    right = ask("pull", "--offline", "--print-path", REF)
    assert (right.code, Path(right.out.decode().strip()).name) == (0, pulled.name)
    spoil(pulled)
    hub.clear()
    failed = ask("pull", "--offline", "--print-path", REF)
    failed.check_failed(1, pulled.name, "have changed", f"nextok pull {REF}", "offline")
    assert failed.out == b""
    assert hub.log == []


def test_offline_a_cut_file_is_said_to_be_wrong(ask: Ask, pulled: Path) -> None:
    os.truncate(pulled, 5000)
    ask("pull", "--offline", REF).check_failed(1, pulled.name)


def test_the_wrong_file_stays_until_the_right_one_is_whole(
    ask: Ask, hub: Any, pulled: Path
) -> None:
    spoil(pulled)
    wrong = pulled.read_bytes()
    hub.clear()
    hub.fault("GET /cdn/", corrupt=True, times=-1)
    ask("pull", "-q", REF).check_failed(1, "other bytes came")
    assert pulled.read_bytes() == wrong
    repaired(ask, hub, pulled)


def test_a_cut_file_is_wrong(ask: Ask, pulled: Path) -> None:
    real = pulled.resolve()
    real.write_bytes(real.read_bytes()[:5000])
    verified = ask("verify", REF)
    assert (verified.code, verified.out.decode().split()[1]) == (1, "WRONG")


def test_without_a_word_all_models_are_verified(ask: Ask, pulled: Path, starter_gguf: Path) -> None:
    lines = ask("verify").out.decode().splitlines()
    assert [line.split()[:2] for line in lines] == [
        [REF, "right"],
        [starter_gguf.stem, "readable"],
    ]


def test_the_sum_that_huggingface_hub_leaves_beside_a_file_is_held_to(
    ask: Ask, emoji_gguf: Path, tmp_path: Path
) -> None:
    """As `hf download --local-dir` does."""
    path = tmp_path / "models" / "q4" / "emoji.gguf"
    metadata = tmp_path / "models/.cache/huggingface/download/q4/emoji.gguf.metadata"
    for file in (path, metadata):
        file.parent.mkdir(parents=True)
    path.write_bytes(emoji_gguf.read_bytes())
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    metadata.write_text(f"{'a' * 40}\n{sha256}\n1700000000.5\n")
    assert ask("verify", path).out.decode().split()[1] == "right"
    spoil(path)
    assert ask("verify", path).out.decode().split()[1] == "WRONG"
    metadata.write_text("no metadata\n")
    assert ask("verify", "emoji.gguf", cwd=path.parent).out.decode().split()[1] == "readable"


def test_a_file_without_a_promise_is_readable(ask: Ask, emoji_gguf: Path) -> None:
    verified = ask("verify", emoji_gguf)
    assert verified.code == 0
    assert verified.out.decode().split()[1] == "readable"
    assert "nothing says what its sha256 should be" in verified.out.decode()


def test_load_tries_it_in_the_engine(ask: Ask, emoji_gguf: Path, pulled: Path) -> None:
    verified = ask("verify", "--load", REF)
    assert verified.code == 0
    assert "it runs" in verified.out.decode()


def test_load_survives_what_the_engine_does_not(
    ask: Ask, scripted: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "nan.gguf"
    path.write_bytes(scripted(["a"], stem="nan-first", nan_at=0).read_bytes())
    verified = ask("verify", "--load", path)
    assert verified.code in (0, 1)
    assert verified.out.decode().count("\n") == 1


@pytest.mark.parametrize("word", ["toy", "./none.gguf", "nobody", "owner/other"])
def test_what_is_not_here_is_said(ask: Ask, pulled: Path, word: str) -> None:
    verified = ask("verify", word)
    assert verified.code in (1, 2)
    assert (verified.out + verified.err.encode()).count(b"\n") == 1
