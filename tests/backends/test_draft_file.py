"""A name means what it meant, or the new whole; drafts of the living are left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nextok.backends.draft_file import Draft, is_draft, remove_abandoned, try_lock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


def test_it_takes_its_name_when_it_is_settled(path: Path) -> None:
    with Draft(path) as draft:
        draft.write(b"ne")
        draft.write(memoryview(b"new")[2:])
        assert path.read_bytes() == b"old"
        draft.settle()
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["file"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_settling_nothing_is_left(path: Path) -> None:
    with pytest.raises(RuntimeError), Draft(path) as draft:
        draft.write(b"new")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["file"]


def test_the_folder_is_made_for_its_owner(tmp_path: Path) -> None:
    with Draft(tmp_path / "a" / "b" / "file") as draft:
        draft.settle()
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_detached_descriptor_stays_locked(path: Path) -> None:
    with Draft(path) as draft:
        draft.settle()
        descriptor = draft.detach()
    with path.open("rb") as other:
        assert not try_lock(other.fileno())
        os.write(descriptor, b"more")
        os.close(descriptor)
        assert try_lock(other.fileno())
    assert path.read_bytes() == b"more"


def test_only_abandoned_drafts_are_removed(path: Path) -> None:
    abandoned = path.with_name(".0123456789abcdef.draft")
    abandoned.write_bytes(b"half")
    os.mkfifo(path.with_name(".pipe.draft"))
    path.with_name("mine.draft").write_bytes(b"")
    with Draft(path) as draft:
        remove_abandoned(path.parent)
        living, *others = sorted(os.listdir(path.parent))
        assert is_draft(living) and others == ["file", "mine.draft"]
        draft.settle()
    remove_abandoned(path.parent / "nowhere")
    assert sorted(os.listdir(path.parent)) == ["file", "mine.draft"]
