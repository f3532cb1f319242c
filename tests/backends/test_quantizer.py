"""The engine's quantiser in its child process, and the copies that are kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.backends.gguf_header import read_header
from nextok.backends.quantized_models import QuantizedModels, bits_per_weight
from nextok.backends.quantizer import QUANTIZATIONS, quantization, quantize
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import ModelError, UsageError
from nextok.generation.finish import FinishReason


def silent(done: int, total: int) -> None:
    """Nobody is told."""


def get(folder: Path, source: Path, name: str, told: list[int] | None = None) -> Path:
    def progress(done: int, total: int) -> None:
        if told is not None:
            told.append(done)

    return QuantizedModels(folder).get(source, name, threads=1, abort=Abort(), progress=progress)


def test_names_are_the_engines() -> None:
    assert quantization(" q4_k ") == "Q4_K_M"
    assert quantization("fp16") == "F16"
    assert all(quantization(name.lower()) == name for name in QUANTIZATIONS)
    with pytest.raises(UsageError, match="no IQ1_S can be made of a model: there are F32, F16"):
        quantization("IQ1_S")


def test_a_copy_has_the_type_and_the_same_tensors(emoji_gguf: Path, tmp_path: Path) -> None:
    copy = read_header(get(tmp_path, emoji_gguf, "Q8_0"))
    source = read_header(emoji_gguf)
    assert copy.integer("general.file_type") == 7
    shapes = [{one.name: one.dims for one in header.tensors} for header in (copy, source)]
    assert shapes[0] == shapes[1]
    kinds = {one.name: one.type for one in copy.tensors}
    assert kinds["token_embd.weight"] == 8
    assert bits_per_weight(copy.path) == pytest.approx(8.5, abs=0.1)


def test_a_split_model_becomes_one_file(scripted: Callable[..., Path], tmp_path: Path) -> None:
    """Whichever of its parts is named."""
    first = scripted([b"ab"], stem="parts", split_tensors=5)
    *_, last = sorted(first.parent.iterdir())
    assert last != first
    copy = read_header(get(tmp_path, last, "F16"))
    assert len(copy.tensors) == 12
    assert copy.integer("split.count") in (None, 1)


def test_a_copy_is_made_once(emoji_gguf: Path, tmp_path: Path) -> None:
    told: list[int] = []
    first = get(tmp_path, emoji_gguf, "F16", told)
    assert told
    renamed = tmp_path / "other-name.gguf"
    shutil.copy(emoji_gguf, renamed)
    told.clear()
    assert get(tmp_path, renamed, "F16", told) == first
    assert told == []


def test_a_copy_that_was_changed_is_made_again(emoji_gguf: Path, tmp_path: Path) -> None:
    copy = get(tmp_path, emoji_gguf, "F16")
    whole = copy.read_bytes()
    copy.write_bytes(whole[:-1])
    assert get(tmp_path, emoji_gguf, "F16").read_bytes() == whole


def test_a_spoilt_journal_costs_time_and_nothing_else(emoji_gguf: Path, tmp_path: Path) -> None:
    copy = get(tmp_path, emoji_gguf, "F16")
    copy.with_name("made.json").write_text("[")
    told: list[int] = []
    assert get(tmp_path, emoji_gguf, "F16", told) == copy
    assert told


def test_a_file_the_engine_refuses_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "no.gguf"
    source.write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(ModelError, match=r"no\.gguf: the engine makes no Q8_0 of it: "):
        quantize(source, tmp_path / "out", "Q8_0", threads=1, abort=Abort(), progress=silent)


def test_an_abort_ends_the_child_and_leaves_nothing(starter_gguf: Path, tmp_path: Path) -> None:
    abort = Abort()

    def progress(done: int, total: int) -> None:
        abort.trip(FinishReason.INTERRUPTED)

    with pytest.raises(Aborted):
        QuantizedModels(tmp_path).get(
            starter_gguf, "Q8_0", threads=1, abort=abort, progress=progress
        )
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
