"""The lock is that of the file which has the name, and says whose it is where the system knows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nextok.backends import chat_lock
from nextok.backends.chat_lock import in_use, open_locked
from nextok.backends.draft_file import try_lock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sky.jsonl"
    path.write_bytes(b"old")
    return path


def test_a_file_that_was_replaced_meanwhile_is_not_the_one(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    """Its writer puts another in its place after we opened it, and goes before we lock it."""
    locked: list[int] = []

    def replace_first(descriptor: int) -> bool:
        if not locked:
            new = shutil.copy(path, path.with_name("new"))
            Path(new).write_bytes(b"new")
            os.replace(new, path)
        locked.append(descriptor)
        return try_lock(descriptor)

    monkeypatch.setattr(chat_lock, "try_lock", replace_first)
    descriptor = open_locked(path)
    assert os.pread(descriptor, 9, 0) == b"new"
    assert len(locked) == 2
    os.close(descriptor)


@pytest.mark.parametrize(
    ("table", "holder"),
    [
        ("1: FLOCK  ADVISORY  WRITE 4711 08:02:131 0 EOF\n", "process 4711"),
        ("1: POSIX  ADVISORY  WRITE 4711 08:02:131 0 EOF\n", "another process"),
        ("1: FLOCK  ADVISORY  WRITE 4711 08:02:1131 0 EOF\n", "another process"),
        ("1: FLOCK  ADVISORY  WRITE 0 08:02:131 0 EOF\n", "another process"),
        ("1: FLOCK  ADVISORY  WRITE -1 08:02:131 0 EOF\n", "another process"),
        (
            "1: FLOCK  ADVISORY  WRITE 4711 08:02:131 0 EOF\n"
            "2: FLOCK  ADVISORY  WRITE 4712 08:03:131 0 EOF\n",
            "another process",
        ),
        ("nonsense\n\n", "another process"),
        (None, "another process"),
    ],
)
def test_who_holds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: str | None, holder: str
) -> None:
    if table is not None:
        (tmp_path / "locks").write_text(table)
    monkeypatch.setattr(chat_lock, "_LOCKS", tmp_path / "locks")
    assert f"the chat sky is open in {holder}: close it there" in str(
        in_use(tmp_path / "sky.jsonl", 131)
    )
