"""`nextok cache`: what is kept of chats and prompts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.kv_store import KvStore

Ask = Callable[..., Any]
DAY = 86400


@pytest.fixture
def kv() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "nextok" / "kv"


@pytest.fixture
def store(kv: Path) -> KvStore:
    """A chat used three days ago, a prompt just now, and hashes of two blocks."""
    store = KvStore(kv, cap_bytes=1 << 30)
    assert store.put("chat-2026-01-01-why", "model", range(70), bytes(1000))
    (chat,) = kv.glob("*.kv")
    used = time.time() - 3 * DAY - 60
    os.utime(chat, (used, used))
    assert store.put("prompt-abc/def", "model", range(1280), bytes(100_000))
    store.seen.add([1, 2])
    return store


@pytest.mark.parametrize("words", [("ls",), ()])
def test_a_list(ask: Ask, store: KvStore, words: tuple[str, ...]) -> None:
    done = ask("cache", *words)
    assert (done.code, done.err) == (0, "")
    prompt, chat = store.entries()
    assert [line.split() for line in done.out.decode().splitlines()] == [
        ["prompt", "1,280", f"{prompt.size_bytes / 1024:.1f}", "KiB", "just", "now", "-"],
        ["chat", "70", f"{chat.size_bytes / 1024:.1f}", "KiB", "3", "days", "ago",
         "2026-01-01-why"],
    ]  # fmt: skip


def test_a_list_as_json(ask: Ask, store: KvStore) -> None:
    told = ask("cache", "ls", "--json").object
    assert told["bytes"] == store.size_bytes()
    assert [(one["kind"], one["chat"], one["tokens"], one["bytes"]) for one in told["entries"]] == [
        ("prompt", None, 1280, store.entries()[0].size_bytes),
        ("chat", "2026-01-01-why", 70, store.entries()[1].size_bytes),
    ]
    used = [one["last_used"] for one in told["entries"]]
    assert used == sorted(used, reverse=True) and used[0].endswith("+00:00")


def test_sums(ask: Ask, store: KvStore) -> None:
    prompt, chat = store.entries()
    assert ask("cache", "size", "--json").object == {
        "prompts": prompt.size_bytes, "chats": chat.size_bytes, "hashes": 16,
        "bytes": prompt.size_bytes + chat.size_bytes + 16,
    }  # fmt: skip
    lines = ask("cache", "size").out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["prompts", "chats", "hashes", "all"]
    assert lines[0].endswith(" KiB (1 entry)") and lines[2] == "hashes   16 bytes"


def test_a_table_on_a_terminal(terminal: Callable[..., Any], store: KvStore) -> None:
    lines = terminal("cache").lines()
    assert lines[0].split() == ["kind", "tokens", "size", "last", "used", "chat"]
    assert lines[-1].startswith("2 entries, ") and lines[-1].endswith(" KiB in all")


def test_clear_leaves_nothing(ask: Ask, store: KvStore, kv: Path) -> None:
    done = ask("cache", "clear")
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert list(kv.iterdir()) == []


def test_clear_says_what_it_freed(terminal: Callable[..., Any], store: KvStore) -> None:
    kept = store.size_bytes()
    assert terminal("cache", "clear").lines() == [f"nextok: {kept / 1024:.1f} KiB freed"]


def test_nothing_is_kept_yet(ask: Ask, kv: Path) -> None:
    for word in ("ls", "clear"):
        done = ask("cache", word)
        assert (done.code, done.out, done.err) == (0, b"", "")
    assert ask("cache", "--json").object == {"entries": [], "bytes": 0}
    assert ask("cache", "size", "--json").object["bytes"] == 0
    assert not kv.exists()


def test_more_than_the_cap_is_listed_too(ask: Ask, store: KvStore) -> None:
    told = ask("cache", "--json", env={"NEXTOK_STATE_CAP": "1KiB"}).object
    assert len(told["entries"]) == 2


def test_damaged_entries_are_no_entries(ask: Ask, store: KvStore, kv: Path) -> None:
    (kv / "0123.kv").write_bytes(b"garbage")
    assert len(ask("cache", "--json").object["entries"]) == 2
    assert ask("cache", "size", "--json").object["bytes"] == store.size_bytes()
    ask("cache", "clear")
    assert list(kv.iterdir()) == []


def test_other_words_are_refused(ask: Ask, kv: Path) -> None:
    ask("cache", "claer").check_failed(2, "claer", "did you mean clear?")
    ask("cache", "everything").check_failed(2, "everything", "ls, size, clear")
    ask("cache", "ls", "size").check_failed(2, "one ls|size|clear, not 2 words")


def test_what_must_stay_is_said(ask: Ask, store: KvStore, kv: Path) -> None:
    (kv / "0123.kv").mkdir()
    ask("cache", "clear").check_failed(1, "0123.kv", "cannot be removed")
