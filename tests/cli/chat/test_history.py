"""The input history's file: kept over sessions, shared, capped, and never trusted."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nextok.cli.chat import history
from nextok.cli.chat.history import MOST_ENTRIES, InputHistory

TEXTS = ["one", "two\n\n\tlines\\", "世界 😀", '"""quoted"""', "\x00\x1b[31m\u2028"]


def lines_of(path: Path) -> list[str]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "nextok" / "history"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_next_session_has_every_text_as_it_was(path: Path) -> None:
    first = InputHistory(path)
    assert [first.add(text) for text in TEXTS] == [""] * len(TEXTS)
    assert InputHistory(path).entries() == first.entries() == TEXTS
    assert mode_of(path) == 0o600 and mode_of(path.parent) == 0o700


def test_blank_texts_and_repetitions_are_not_kept(path: Path) -> None:
    made = InputHistory(path)
    for text in ("one", "one", " \n", "", "two", "one"):
        made.add(text)
    assert lines_of(path) == made.entries() == ["one", "two", "one"]


def test_without_a_path_it_lasts_for_the_session() -> None:
    made = InputHistory(None)
    made.add("one")
    assert made.entries() == ["one"]
    assert InputHistory(None).entries() == []


def test_damaged_lines_count_for_nothing(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b'"one"\n{"a": 1}\n\xff\xfe\n\n[[[\n"tw\n7\n" "\nnull\n"three"\n"cut o')
    path.chmod(0o644)
    made = InputHistory(path)
    assert made.entries() == ["one", "three"]
    made.add("four")
    assert InputHistory(path).entries() == ["one", "three", "four"]
    assert mode_of(path) == 0o600


def test_the_oldest_go_when_it_is_full(path: Path) -> None:
    path.parent.mkdir(parents=True)
    texts = [f"text {number}" for number in range(2 * MOST_ENTRIES)]
    path.write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    made = InputHistory(path)
    assert made.entries() == texts[-MOST_ENTRIES:]
    made.add("new")
    assert made.entries() == lines_of(path) == [*texts[-MOST_ENTRIES + 1 :], "new"]
    assert os.listdir(path.parent) == ["history"]
    assert mode_of(path) == 0o600


def test_it_is_full_in_bytes_as_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 1000)
    made = InputHistory(path)
    for number in range(40):
        made.add(f"{number:099}")
    assert path.stat().st_size <= 1400
    kept = InputHistory(path).entries()
    assert kept == made.entries()[-len(kept) :] and 5 < len(kept) < 10


def test_a_huge_text_is_recalled_in_its_session_alone(path: Path) -> None:
    made = InputHistory(path)
    made.add("small")
    made.add("x" * (1 << 18))
    assert len(made.entries()) == 2
    assert InputHistory(path).entries() == ["small"]


WRITER = """
import sys
from pathlib import Path
from nextok.cli.chat.history import InputHistory
made = InputHistory(Path(sys.argv[1]))
for number in range(300):
    made.add(f"{sys.argv[2]} {number} " + "世" * (number % 50))
"""


def test_several_sessions_write_at_once(path: Path) -> None:
    """With 900 lines there already, the file is written anew in the middle of it."""
    path.parent.mkdir(parents=True)
    path.write_text("".join(f'"old {number}"\n' for number in range(900)))
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    kept = lines_of(path)
    for name in ("a", "b"):
        numbers = [int(text.split()[1]) for text in kept if text.split()[0] == name]
        assert numbers == list(range(300))


def test_a_lock_that_is_never_given_back_keeps_nobody_waiting(path: Path) -> None:
    InputHistory(path).add("one")
    with open(path, "rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        InputHistory(path).add("two")
    assert lines_of(path) == ["one", "two"]


def test_a_link_stays_one(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    target = tmp_path / "elsewhere"
    target.write_text("".join(f'"{number}"\n' for number in range(2 * MOST_ENTRIES)))
    path.symlink_to(target)
    InputHistory(path).add("new")
    InputHistory(path).add("newer")
    assert path.is_symlink() and len(lines_of(target)) == MOST_ENTRIES + 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "no folder to be in"])
def test_what_cannot_be_a_history_is_said_once(path: Path, kind: str) -> None:
    if kind == "no folder to be in":
        path.parent.parent.write_text("a file")
    else:
        path.parent.mkdir(parents=True)
        path.mkdir() if kind == "folder" else os.mkfifo(path)
    made = InputHistory(path)
    assert made.entries() == []
    assert made.add("one").startswith("input history is not kept: ")
    assert made.add("two") == ""
    assert made.entries() == ["one", "two"]


def test_the_file_is_read_once(path: Path) -> None:
    made = InputHistory(path)
    made.add("one")
    path.write_text('"another"\n')
    assert made.entries() == ["one"]
