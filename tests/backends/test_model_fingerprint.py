"""Another model is another fingerprint; another place of the same file is not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nextok.backends.model_fingerprint import model_fingerprint
from nextok.generation.errors import ModelError

MEGABYTE = 1 << 20


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(3 * MEGABYTE))
    return path


def test_it_is_of_the_contents(model: Path) -> None:
    first = model_fingerprint(model)
    copy = Path(shutil.copy(model, model.with_name("copy.gguf")))
    os.utime(copy, (0, 0))
    assert model_fingerprint(copy) == first
    assert len(first) == 64


@pytest.mark.parametrize("place", [0, 5, MEGABYTE - 1, -1])
def test_another_byte(model: Path, place: int) -> None:
    first = model_fingerprint(model)
    content = bytearray(model.read_bytes())
    content[place] ^= 1
    model.write_bytes(content)
    assert model_fingerprint(model) != first


def test_other_weights(model: Path) -> None:
    """A stretch of 64 KiB, wherever it is."""
    first, content = model_fingerprint(model), model.read_bytes()
    for start in range(0, len(content) - 65536, 65536):
        other = content[:start] + b"\1" * 65536 + content[start + 65536 :]
        model.write_bytes(other)
        assert model_fingerprint(model) != first, start


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, MEGABYTE, MEGABYTE + 1])
def test_another_size(tmp_path: Path, size: int) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(bytes(size))
    first = model_fingerprint(path)
    path.write_bytes(bytes(size + 1))
    assert model_fingerprint(path) != first


def test_a_terabyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.gguf"
    path.write_bytes(b"GGUF")
    os.truncate(path, 1 << 40)
    first = model_fingerprint(path)
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\1")
    assert model_fingerprint(path) != first


def test_a_split_model_is_all_its_parts(tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2)]
    for part in parts:
        part.write_bytes(b"GGUF")
    first = model_fingerprint(parts[0])
    assert model_fingerprint(parts[1]) == first
    parts[1].write_bytes(b"GGUG")
    assert model_fingerprint(parts[0]) != first
    parts[1].unlink()
    with pytest.raises(ModelError, match=r"00002.gguf can no longer be read \(No such file"):
        model_fingerprint(parts[0])
