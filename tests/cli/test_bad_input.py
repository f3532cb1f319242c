"""Model files that are none, or none that can answer: one line, the right code, no crash."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFValueType

from nextok.backends.opening import checked
from nextok.backends.seen_files import SeenFiles
from nextok.generation.errors import ModelError

Ask = Callable[..., Any]
Build = Callable[..., Path]

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"

NO_MODELS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "three bytes": (b"GGU", "not"),
    "web page": (b"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
    "LFS pointer": (LFS, "git lfs pull"),
    "JSON": (b'{"error": "not found"}', "JSON"),
    "text": (b"hello there", "text"),
    "zip": (b"PK\x03\x04" + bytes(64), "zip"),
    "version 99": (b"GGUF" + struct.pack("<IQQ", 99, 0, 0), "99"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "big-endian"),
    "header cut": (b"GGUF" + struct.pack("<I", 3), ""),
    "absurd counts": (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60), ""),
}


def refused(path: Path, state: Path) -> str:
    """What is said of a file on its way to the engine, in this process."""
    with pytest.raises(ModelError) as error:
        checked(path, SeenFiles(state))
    said = str(error.value)
    assert said.startswith(f"{path}: ") and "\n" not in said
    return said


@pytest.mark.parametrize("name", NO_MODELS)
def test_a_file_that_is_no_model(tmp_path: Path, name: str) -> None:
    data, word = NO_MODELS[name]
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    assert word in refused(path, tmp_path)


@pytest.mark.parametrize("name", ["empty", "web page", "LFS pointer", "absurd counts"])
def test_a_file_that_is_no_model_is_one_line(ask: Ask, tmp_path: Path, name: str) -> None:
    data, word = NO_MODELS[name]
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    ask("-m", path, "hi").check_failed(1, str(path), word)


def test_a_path_that_leads_to_no_file(ask: Ask, tmp_path: Path) -> None:
    ask("-m", tmp_path / "none.gguf", "hi").check_failed(1, "none.gguf", "no such file")
    ask("-m", tmp_path, "hi").check_failed(1, str(tmp_path), "folder")
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    ask("-m", pipe, "hi").check_failed(1, "a pipe, not a file")  # and does not wait for a writer
    ask("-m", "/dev/zero", "hi").check_failed(1, "a device, not a file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "secret.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    ask("-m", path, "hi").check_failed(1, str(path), "permission denied")


def test_a_name_nobody_knows(ask: Ask) -> None:
    ask("-m", "no-such-model", "hi").check_failed(1, "no-such-model", ".gguf")
    ask("--model", "", "hi").check_failed(2, "--model must be a model")


def test_a_truncated_file_says_what_is_there_and_what_is_needed(
    ask: Ask, emoji_gguf: Path, tmp_path: Path
) -> None:
    data = emoji_gguf.read_bytes()
    for size in (len(data) - 1, len(data) // 2):
        path = tmp_path / f"cut-{size}.gguf"
        path.write_bytes(data[:size])
        answered = ask("-m", path, "hi")
        answered.check_failed(1, str(path))
        digits = answered.err.replace(",", "")
        assert str(size) in digits and str(len(data)) in digits


UNKNOWN = {
    f"no-such-arch.{key}": value
    for key, value in {
        "block_count": 1, "context_length": 64, "embedding_length": 320, "feed_forward_length": 64,
        "attention.head_count": 5, "attention.layer_norm_rms_epsilon": 1e-6,
    }.items()
}  # fmt: skip
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "bert": ({"general.architecture": "bert"}, "embedding model"),
    "t5encoder": ({"general.architecture": "t5encoder"}, "embedding model"),
    "clip": ({"general.architecture": "clip"}, "vision part"),
    "mmproj": ({"general.type": "mmproj"}, "mmproj"),
    "adapter": ({"general.type": "adapter"}, "adapter"),
    "unknown": ({"general.architecture": "no-such-arch", **UNKNOWN}, "no-such-arch"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_another_kind(scripted: Build, tmp_path: Path, kind: str) -> None:
    meta, words = KINDS[kind]
    assert words in refused(scripted(["x"], stem="kind", meta=meta), tmp_path)


def test_a_model_of_another_kind_does_not_crash(ask: Ask, scripted: Build) -> None:
    meta, words = KINDS["bert"]
    model = scripted(["x"], stem="kind", meta=meta)
    ask("-m", model, "hi").check_failed(1, str(model), words, "text generation")


def test_a_vocabulary_without_weights(
    ask: Ask, write_gguf: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / "vocab.gguf"
    write_gguf(path, {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2"}, {})
    ask("-m", path, "hi").check_failed(1, str(path), "only a vocabulary")


FATAL: dict[str, dict[str, Any]] = {
    "no layers": {"llama.block_count": 0},
    "too many layers": {"llama.block_count": 513},
    "too many experts": {"llama.expert_count": 2000, "llama.expert_used_count": 1},
    "rope scaling": {"llama.rope.scaling.type": "no-such"},
    "epsilon": {"llama.attention.layer_norm_rms_epsilon": -1.0},
    "no heads": {"llama.attention.head_count": 0},
    "twice the same token": {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.tokens": ["a"] * 288,
    },
    "token types": {"tokenizer.ggml.token_type": (GGUFValueType.INT32, [1, 2, 3])},
    "tokenizer": {"tokenizer.ggml.model": "no-such"},
    "no tokens": {"tokenizer.ggml.tokens": None},
}


@pytest.mark.parametrize("name", FATAL)
def test_values_that_would_end_the_engine(scripted: Build, tmp_path: Path, name: str) -> None:
    refused(scripted(["x"], stem="fatal", meta=FATAL[name]), tmp_path)


def test_values_that_would_end_the_engine_are_one_line(ask: Ask, scripted: Build) -> None:
    for name in ("no layers", "twice the same token"):
        model = scripted(["x"], stem="fatal", meta=FATAL[name])
        ask("-m", model, "hi").check_failed(1, str(model))


def test_a_damaged_file_is_the_same_for_every_command(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(LFS)
    for arguments in (("show", path), ("tokens", "-m", path, "x"), ("render", "-m", path, "x")):
        ask(*arguments).check_failed(1, str(path), "git lfs pull")


def test_a_file_damaged_after_it_was_tried_is_looked_at_again(
    ask: Ask, emoji_gguf: Path, tmp_path: Path
) -> None:
    path = tmp_path / "changes.gguf"
    shutil.copy(emoji_gguf, path)
    assert ask("-m", path, "-n", "1", "hi").code == 0
    path.write_bytes(path.read_bytes()[:-100])
    ask("-m", path, "hi").check_failed(1, str(path))


STUB = """
#include <signal.h>
__attribute__((constructor)) static void start(void) { raise(SIGILL); }
"""


@pytest.fixture(scope="session")
def illegal_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libraries of the engine's names that this CPU cannot run."""
    compiler = shutil.which("cc")
    assert compiler is not None, "the tests need a C compiler, as the engine does"
    folder = tmp_path_factory.mktemp("engine")
    source = folder / "stub.c"
    source.write_text(STUB)
    for name in ("llama", "ggml", "ggml-base", "ggml-cpu"):
        library = folder / f"lib{name}.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return folder


def test_an_engine_for_another_cpu_is_one_line(
    ask: Ask, emoji_gguf: Path, illegal_engine: Path
) -> None:
    environ = {"LLAMA_CPP_LIB_PATH": str(illegal_engine)}
    answered = ask("-m", emoji_gguf, "hi", env=environ)
    answered.check_failed(1, "CPU", "pip install", "--no-binary")


def test_an_engine_that_is_not_there(ask: Ask, emoji_gguf: Path, tmp_path: Path) -> None:
    answered = ask("-m", emoji_gguf, "hi", env={"LLAMA_CPP_LIB_PATH": str(tmp_path)})
    answered.check_failed(1, "engine")


def test_a_shell_that_stops_at_errors_stops(ask: Ask, emoji_gguf: Path, nan_gguf: Path) -> None:
    """`set -e` sees every failure, also one after part of the answer."""
    assert {
        ask("-m", nan_gguf, "hi").code,
        ask("-m", "none.gguf", "hi").code,
        ask("-m", emoji_gguf, "--no-such-flag", "hi").code,
        ask("-m", emoji_gguf, "-c", "5", "hi").code,
    } == {1, 2, 3}
