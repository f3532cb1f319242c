"""`nextok verify`: whether what is on disk still is what was fetched."""

from __future__ import annotations

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
    assert f"nextok rm {REF}, then nextok pull {REF}" in verified.out.decode()


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
