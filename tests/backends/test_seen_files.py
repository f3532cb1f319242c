"""What passed is remembered for exactly that file; trouble means no memory, never an error."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from nextok.backends.seen_files import SeenFiles


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def the_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_remembers_each_kind(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "state" / "nextok"
    seen = SeenFiles(folder)
    assert not seen.has(model, "header")
    seen.add(model, "header")
    assert seen.has(model, "header") and not seen.has(model, "trial")
    seen.add(model, "trial")
    other = SeenFiles(folder)
    assert other.has(model, "header") and other.has(model, "trial")
    assert stat.S_IMODE(the_file(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_holds_no_names(tmp_path: Path, model: Path) -> None:
    SeenFiles(tmp_path / "s").add(model, "header")
    assert "model" not in the_file(tmp_path / "s").read_text()


def test_a_changed_file_is_another_file(tmp_path: Path, model: Path) -> None:
    seen = SeenFiles(tmp_path / "s")
    seen.add(model, "header")
    status = model.stat()
    os.utime(model, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert not seen.has(model, "header")
    os.utime(model, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert seen.has(model, "header")
    moved = model.rename(tmp_path / "moved.gguf")
    assert seen.has(moved, "header")
    moved.write_bytes(b"GGUF2")
    assert not seen.has(moved, "header")
    assert not seen.has(model, "header")


def test_a_split_model_is_all_its_parts(tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2)]
    for part in parts:
        part.write_bytes(b"GGUF")
    seen = SeenFiles(tmp_path / "s")
    seen.add(parts[1], "header")
    assert seen.has(parts[0], "header")
    parts[1].write_bytes(b"GGUF!")
    assert not seen.has(parts[0], "header")
    parts[1].unlink()
    assert not seen.has(parts[0], "header")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\0", b"[" * 100_000, b'{"1:2:3:4": 7}']
)
def test_a_damaged_memory_is_an_empty_one(tmp_path: Path, model: Path, content: bytes) -> None:
    seen = SeenFiles(tmp_path / "s")
    seen.add(model, "trial")
    the_file(tmp_path / "s").write_bytes(content)
    assert not seen.has(model, "trial")
    seen.add(model, "trial")
    assert seen.has(model, "trial")


def test_what_cannot_be_written_is_not_remembered(tmp_path: Path, model: Path) -> None:
    (tmp_path / "taken").touch()
    seen = SeenFiles(tmp_path / "taken")
    seen.add(model, "header")
    assert not seen.has(model, "header")
    folder = tmp_path / "s"
    SeenFiles(folder).add(model, "header")
    the_file(folder).unlink()
    (folder / "checked-models.json").mkdir()
    SeenFiles(folder).add(model, "header")
    assert [path.name for path in folder.iterdir()] == ["checked-models.json"]


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path, model: Path) -> None:
    os.mkfifo(tmp_path / "checked-models.json")
    seen = SeenFiles(tmp_path)
    assert not seen.has(model, "header")
    seen.add(model, "header")
    assert seen.has(model, "header")


def test_the_oldest_are_forgotten(tmp_path: Path, model: Path) -> None:
    seen = SeenFiles(tmp_path / "s")
    seen.add(model, "header")
    path = the_file(tmp_path / "s")
    entries = {f"1:{n}:3:4": ["header"] for n in range(1500)}
    path.write_text(json.dumps(entries))
    seen.add(model, "header")
    kept = json.loads(path.read_text())
    assert len(kept) == 1000
    assert seen.has(model, "header") and "1:1499:3:4" in kept and "1:0:3:4" not in kept


def _add_many(folder: Path, models: list[Path]) -> None:
    for path in models:
        SeenFiles(folder).add(path, "header")


def test_many_processes_at_once(tmp_path: Path) -> None:
    models = [tmp_path / f"{n}.gguf" for n in range(20)]
    for path in models:
        path.write_bytes(b"GGUF")
    folder = tmp_path / "s"
    with ProcessPoolExecutor(4) as pool:
        for done in [pool.submit(_add_many, folder, models) for _ in range(4)]:
            done.result()
    json.loads(the_file(folder).read_text())
    assert SeenFiles(folder).has(models[-1], "header")
