"""What is remembered of the checksums of files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from nextok.backends.hub_files import HubFile
from nextok.backends.intact_files import IntactFiles
from nextok.backends.seen_files import SeenFiles

DATA = b"GGUF" + bytes(5000)
FILE = HubFile(path="m.gguf", size=len(DATA), sha256=hashlib.sha256(DATA).hexdigest())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def read() -> list[int]:
    """Bytes that were read."""
    return []


@pytest.fixture
def intact(tmp_path: Path, read: list[int]) -> IntactFiles:
    return IntactFiles(
        seen=SeenFiles(tmp_path / "state"), reading=lambda file, done: read.append(done)
    )


def test_a_file_is_read_once(intact: IntactFiles, path: Path, read: list[int]) -> None:
    assert intact.has(path, FILE)
    assert read == [len(DATA)]
    intact.add(path)
    assert intact.has(path, FILE)
    assert read == [len(DATA)]


def test_one_that_changed_is_read_again(intact: IntactFiles, path: Path) -> None:
    intact.add(path)
    path.write_bytes(DATA[:-1] + b"?")
    os.utime(path, ns=(1, 1))
    assert not intact.has(path, FILE)


def test_one_that_was_found_to_be_wrong_is_not_trusted(
    intact: IntactFiles, path: Path, read: list[int]
) -> None:
    intact.add(path)
    intact.refuse(path)
    assert intact.has(path, FILE)
    assert read == [len(DATA)]


def test_what_is_not_there_is_not_intact(intact: IntactFiles, path: Path) -> None:
    path.unlink()
    assert not intact.has(path, FILE)
