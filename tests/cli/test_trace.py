"""`--trace FILE`: where it goes, and what it never overwrites."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from .conftest import Ask


def test_the_trace_takes_the_place_of_an_older_one(
    ask: Ask, emoji_gguf: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"type": "older", "and": "longer"}\n' * 1000)
    answered = ask("-m", emoji_gguf, "--trace", trace, "hi")
    assert (answered.code, answered.out) == (0, "Hi 😀 bye\n".encode())
    kinds = [json.loads(line)["type"] for line in trace.read_text().splitlines()]
    assert kinds[0] == "start" and kinds[-1] == "end" and "older" not in kinds


@pytest.mark.parametrize(
    "older", [b"notes of mine\n", b'{"answer": 42}\n', b"\x89PNG\r\n"], ids=("text", "json", "png")
)
def test_what_is_no_trace_is_not_overwritten(ask: Ask, tmp_path: Path, older: bytes) -> None:
    path = tmp_path / "mine"
    path.write_bytes(older)
    answered = ask("-m", "toy", "-n", "1", "--trace", path, "hi")
    answered.check_failed(2, "mine exists and is no trace: name another file, or remove it")
    assert path.read_bytes() == older
    path.write_bytes(b"")
    assert ask("-m", "toy", "-n", "1", "--trace", path, "hi").code == 0


@pytest.mark.parametrize("flag", ["-m", "-f", "--messages", "--chat-template"])
def test_what_the_run_reads_is_not_overwritten(
    ask: Ask, emoji_gguf: Path, tmp_path: Path, flag: str
) -> None:
    read = tmp_path / "input.gguf"
    shutil.copy(emoji_gguf, read)
    before = read.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(read)
    model = () if flag == "-m" else ("-m", emoji_gguf)
    answered = ask(*model, flag, read, "--trace", link, "hi")
    assert answered.code == 2
    answered.check_failed(2, "--trace", "reads")
    assert read.read_bytes() == before


def test_a_trace_needs_a_file_that_can_be_written(ask: Ask, tmp_path: Path) -> None:
    ask("-m", "toy", "--trace", "-", "hi").check_failed(2, "--trace")
    ask("-m", "toy", "--trace", tmp_path, "hi").check_failed(1, str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    ask("-m", "toy", "--trace", tmp_path / "pipe", "hi").check_failed(1, "pipe")


def test_a_full_disk_ends_the_trace_and_not_the_answer(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--trace", "/dev/full", "hi")
    assert (answered.code, answered.out) == (0, "Hi 😀 bye\n".encode())
    answered.check_line("warning", "/dev/full", "No space left")
