"""Hashes that were seen are known, for a while; nothing that happens to the file does harm."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from nextok.backends.seen_blocks import SeenBlocks

LARGE = 2**64 - 1
MOST = (1 << 18) // 8
"""Hashes that the file may hold."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "kv" / "seen-blocks"


@pytest.fixture
def seen(path: Path) -> SeenBlocks:
    return SeenBlocks(path)


def test_what_was_added_is_known(seen: SeenBlocks, path: Path) -> None:
    assert seen.leading([1, 2]) == 0
    assert seen.size_bytes() == 0
    seen.add([1, LARGE])
    assert seen.leading([1, LARGE, 3]) == 2
    assert seen.leading([LARGE]) == 1
    assert seen.leading([3, 1]) == 0
    assert seen.leading([]) == 0
    seen.add([3])
    assert seen.leading([1, LARGE, 3]) == 3
    assert seen.size_bytes() == path.stat().st_size == 24


def test_nothing_is_made_for_nothing(seen: SeenBlocks, path: Path) -> None:
    seen.leading([1])
    seen.add([])
    assert not path.parent.exists()


def test_nobody_else_can_read_it(seen: SeenBlocks, path: Path) -> None:
    seen.add([1])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_older_half_goes_when_there_are_too_many(seen: SeenBlocks, path: Path) -> None:
    seen.add(range(MOST))
    assert seen.size_bytes() == MOST * 8
    seen.add([LARGE])
    assert seen.size_bytes() == MOST * 4
    assert seen.leading([LARGE, MOST - 1, MOST // 2 + 1, MOST // 2]) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"1234567", b"x" * 100_001])
def test_what_is_no_list_of_hashes_counts_as_nothing(
    seen: SeenBlocks, path: Path, content: bytes
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert seen.leading([1]) == 0
    seen.add([1])
    assert seen.leading([1]) == 1


def test_a_file_of_any_size_is_replaced_by_a_small_one(seen: SeenBlocks, path: Path) -> None:
    seen.add([1])
    os.truncate(path, 1 << 40)
    assert seen.leading([1]) == 1
    seen.add([2])
    assert seen.leading([2]) == 1
    assert seen.size_bytes() <= MOST * 8


def test_what_cannot_be_written_is_not_remembered(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = SeenBlocks(tmp_path / "file" / "seen-blocks")
    blocked.add([1])
    assert blocked.leading([1]) == 0
    secret = tmp_path / "secret"
    secret.write_bytes(b"12345678")
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    SeenBlocks(path).add([1])
    assert secret.read_bytes() == b"12345678", "it is not written through a link"
    path.unlink()
    os.mkfifo(path)
    SeenBlocks(path).add([1])
    assert SeenBlocks(path).leading([1]) == 0, "nor is a pipe waited for"


def _add(path: Path, first: int) -> None:
    for number in range(200):
        SeenBlocks(path).add([first + number, first + number + 1000])


def test_many_processes_add_at_once(seen: SeenBlocks, path: Path) -> None:
    starts = [10_000, 20_000, 30_000]
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(_add, [path] * 3, starts))
    for start in starts:
        assert seen.leading([*range(start, start + 200), *range(start + 1000, start + 1200)]) == 400
    assert seen.size_bytes() == 3 * 400 * 8
