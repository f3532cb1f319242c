"""Every bad input is one ModelError line that names the file and the remedy; sound ones pass."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest

from nextok.backends.architectures import KNOWN
from nextok.backends.gguf_header import read_header
from nextok.backends.model_check import check_model_file, needs_trial
from nextok.backends.split_files import first_part, part_number, part_paths
from nextok.generation.errors import ModelError

KINDS = gguf.GGUFValueType
Build = Callable[..., Path]


def fault(path: Path) -> str:
    """The message, held to its promises."""
    with pytest.raises(ModelError) as caught:
        check_model_file(path)
    message = str(caught.value)
    assert message.isprintable()
    assert path.name in message
    return message


def test_sound_models_pass(
    emoji_gguf: Path, loop_gguf: Path, esc_gguf: Path, nan_gguf: Path, starter_gguf: Path
) -> None:
    for path in (emoji_gguf, loop_gguf, esc_gguf, nan_gguf, starter_gguf):
        assert check_model_file(path).path == path


def test_a_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    assert "no .gguf file is in" in fault(tmp_path / "model.gguf")
    (tmp_path / "smollm2-135m.gguf").touch()
    assert f"did you mean {tmp_path}/smollm2-135m.gguf?" in fault(tmp_path / "smolm2-135m.gguf")
    assert "name one in" in fault(tmp_path / "qqqqqqq")
    (tmp_path / "link.gguf").symlink_to("gone.gguf")
    assert f"{tmp_path}/link.gguf: a link to nowhere (gone.gguf)" in fault(tmp_path / "link.gguf")
    assert "nor a folder" in fault(tmp_path / "nowhere" / "model.gguf")
    assert "no such file" in fault(tmp_path / "smollm2-135m.gguf" / "model.gguf")


def test_a_folder_names_its_models(tmp_path: Path) -> None:
    assert "a folder, not a model file: no .gguf file" in fault(tmp_path)
    names = ("b.gguf", "a.gguf", "c-00001-of-00002.gguf", "c-00002-of-00002.gguf", "readme.md")
    for name in names:
        (tmp_path / name).touch()
    assert fault(tmp_path).endswith(": a.gguf, b.gguf, c-00001-of-00002.gguf")


def test_what_is_no_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "a pipe, not a file" in fault(tmp_path / "pipe.gguf")
    with pytest.raises(ModelError, match="not a regular file"):
        read_header(tmp_path / "pipe.gguf")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "s.gguf"))
        assert "a socket" in fault(tmp_path / "s.gguf")
    assert "a device" in fault(Path("/dev/zero"))


def test_paths_the_system_refuses(tmp_path: Path) -> None:
    loop = tmp_path / "loop.gguf"
    loop.symlink_to(loop)
    assert "cannot be read" in fault(loop)
    assert "cannot be read" in fault(tmp_path / ("x" * 300 + ".gguf"))
    with pytest.raises(ModelError, match="cannot be read"):
        check_model_file(Path("a\0b.gguf"))


def test_a_file_of_somebody_else(emoji_gguf: Path, tmp_path: Path) -> None:
    path = tmp_path / "private.gguf"
    shutil.copy(emoji_gguf, path)
    path.chmod(0)
    if os.geteuid() == 0:  # root may read all: look at it as nobody
        os.seteuid(65534)
    try:
        assert "permission denied" in fault(path)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty (0 bytes)"),
        (b"GGUF", "incomplete"),
        (b"<!DOCTYPE html><html><head>", "a web page"),
        (b"\n  <html lang=en>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "git-LFS pointer"),
        (struct.pack("<Q", 40) + b'{"__metadata__":{}}', "a safetensors file"),
        (b"PK\x03\x04" + bytes(40), "a zip archive"),
        (b"\x80\x02}q\x00.", "a Python pickle"),
        (b"\x1f\x8b\x08" + bytes(20), "compressed"),
        (b"tjgg" + bytes(40), "before GGUF"),
        (b"lmgg" + bytes(40), "before GGUF"),
        (b'{"error":"Repository not found"}', "JSON text"),
        (b"# My model\n\nSee below.\n", "a text file"),
        (bytes(4096), "begins with zeros"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "begins with 7f 45 4c 46"),
    ],
)
def test_what_is_no_gguf_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert message in fault(path)


def test_a_truncated_file_says_what_it_has_and_needs(emoji_gguf: Path, tmp_path: Path) -> None:
    data = emoji_gguf.read_bytes()
    path = tmp_path / "cut.gguf"
    header = read_header(emoji_gguf)
    last = header.tensors[-1]
    need = header.data_offset + last.offset + (last.size or 0)
    for size in (need - 1, len(data) // 2, header.data_offset):
        path.write_bytes(data[:size])
        assert f"incomplete: it has {size} bytes and needs {need}" in fault(path)
    path.write_bytes(data[:need])
    assert check_model_file(path).file_size == need


def test_a_path_with_control_characters_stays_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a\n\x1b[31m.gguf"
    path.write_bytes(b"")
    with pytest.raises(ModelError) as caught:
        check_model_file(path)
    assert str(caught.value).isprintable()


@pytest.fixture(scope="session")
def parts(scripted: Build) -> tuple[Path, ...]:
    return part_paths(scripted(["split "], stem="split", split_tensors=5))


def test_any_part_stands_for_the_whole(parts: tuple[Path, ...]) -> None:
    assert [part.name for part in parts] == [f"split-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    for part in parts:
        assert check_model_file(part).path == parts[0] == first_part(part)


def test_a_missing_part_is_named(parts: tuple[Path, ...], tmp_path: Path) -> None:
    first, second, third = (Path(shutil.copy(part, tmp_path)) for part in parts)
    second.unlink()
    assert f"{second.name} is missing" in fault(first)
    assert f"{second.name} is missing" in fault(third)
    assert "this part of the model is missing" in fault(second)


def test_damaged_and_renamed_parts(parts: tuple[Path, ...], tmp_path: Path) -> None:
    first, second, third = (Path(shutil.copy(part, tmp_path)) for part in parts)
    data = second.read_bytes()
    second.write_bytes(data[:-100])
    with pytest.raises(ModelError, match=f"{second.name}: incomplete"):
        check_model_file(first)
    shutil.copy(third, second)
    with pytest.raises(ModelError, match=f"{second.name}: not the part its name says"):
        check_model_file(first)
    assert "part 1 of a model in 3 files" in fault(first.rename(tmp_path / "model.gguf"))


def test_names_of_parts() -> None:
    assert part_number(Path("m-00002-of-00003.gguf")) == (2, 3)
    for name in ("m.gguf", "m-00004-of-00003.gguf", "m-00000-of-00003.gguf", "m-1-of-2.gguf"):
        assert part_number(Path(name)) is None
        assert first_part(Path(name)) == Path(name)


GENERAL_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"general.architecture": "bert"}, "an embedding model"),
    ({"general.architecture": "gemma-embedding"}, "an embedding model"),
    ({"general.architecture": "t5"}, "an encoder-decoder model"),
    ({"general.architecture": "t5encoder"}, "an embedding model"),
    ({"general.architecture": "clip"}, "the vision part"),
    ({"general.architecture": "dream"}, "a diffusion language model"),
    ({"general.architecture": "eagle3"}, "a draft head"),
    ({"general.architecture": "flux"}, "makes images"),
    ({"general.architecture": "whisper"}, "a speech model"),
    ({"general.type": "adapter"}, "an adapter (LoRA)"),
    ({"general.type": "mmproj"}, "the vision part"),
    ({"general.type": "imatrix"}, "an importance matrix"),
    ({"general.architecture": None}, "names no architecture"),
    ({"general.architecture": ""}, "names no architecture"),
    ({"general.architecture": 7}, "names no architecture"),
    ({"llama.attention.causal": False}, "an embedding model"),
    ({"llama.pooling_type": 3}, "an embedding model"),
]
VALUE_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"llama.block_count": 0}, "block_count is 0"),
    ({"llama.block_count": 513}, "block_count is 513"),
    ({"llama.block_count": None}, "how many layers"),
    ({"llama.nextn_predict_layers": 2}, "2 of its 1 layers"),
    ({"llama.expert_count": 1025, "llama.expert_used_count": 2}, "expert_count is 1025"),
    ({"llama.expert_count": 4, "llama.expert_used_count": 5}, "5 of 4 experts"),
    ({"llama.expert_count": 4, "llama.expert_used_count": 0}, "0 of 4 experts"),
    ({"llama.expert_count": 4}, "0 of 4 experts"),
    ({"llama.expert_used_count": 2}, "has none"),
    (
        {
            "llama.expert_count": 4,
            "llama.expert_used_count": 2,
            "llama.expert_group_count": 3,
            "llama.expert_group_used_count": 1,
        },
        "4 experts do not go into 3 groups",
    ),
    ({"llama.rope.scaling.type": "bogus"}, "'bogus'"),
    ({"llama.attention.layer_norm_rms_epsilon": -1e-6}, "epsilon is -"),
    ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "epsilon is nan"),
    ({"llama.attention.head_count": 0}, "no attention heads"),
    ({"llama.attention.head_count_kv": 0}, "no key-value heads"),
    ({"llama.attention.head_count_kv": 3}, "5 heads do not go into 3"),
    ({"llama.attention.head_count": 4294967295}, "it has 4294967295 attention heads"),
    ({"llama.attention.key_length": 0}, "heads are 0 and 64 wide"),
    ({"llama.attention.value_length": 32}, "keys are 64 wide and its values 32"),
    ({"llama.rope.dimension_count": 63}, "rope.dimension_count is 63"),
    ({"llama.rope.dimension_count": 128}, "rope.dimension_count is 128"),
    ({"llama.rope.dimension_count_swa": 7}, "rope.dimension_count_swa is 7"),
    ({"llama.rope.dimension_count_swa": 32}, "rope.dimension_count_swa is 32"),
    ({"llama.attention.sliding_window": 2**31 - 1}, "sliding_window is 2147483647"),
    ({"llama.context_length": 0}, "context_length is 0"),
    ({"llama.context_length": 2**32 - 1}, "context_length is 4294967295"),
    ({"llama.embedding_length": 0}, "embedding_length is 0"),
    ({"llama.embedding_length": 2**31}, "embedding_length is 2147483648"),
]
TOKENIZER_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"tokenizer.ggml.model": None}, "no tokenizer"),
    ({"tokenizer.ggml.model": "no_vocab"}, "no tokenizer"),
    ({"tokenizer.ggml.model": "bert"}, "embedding models"),
    ({"tokenizer.ggml.model": "rwkv"}, "not one of llama models"),
    ({"tokenizer.ggml.tokens": None}, "no list of tokens"),
    ({"tokenizer.ggml.tokens": (KINDS.INT32, [1, 2])}, "no list of tokens"),
    ({"tokenizer.ggml.scores": [-1.0] * 10}, "only 10 entries in scores"),
    ({"tokenizer.ggml.token_type": (KINDS.INT32, [1] * 10)}, "only 10 entries in token_type"),
    ({"tokenizer.ggml.bos_token_id": 288}, "bos_token_id is 288, and there are 288 tokens"),
    ({"tokenizer.ggml.eos_token_id": 99999}, "eos_token_id is 99999"),
]


@pytest.mark.parametrize(("meta", "message"), GENERAL_FAULTS + VALUE_FAULTS + TOKENIZER_FAULTS)
def test_headers_that_cannot_run(scripted: Build, meta: dict[str, Any], message: str) -> None:
    assert message in fault(scripted(["a"], meta=meta))


@pytest.mark.parametrize("alignment", [0, 3, 48])
def test_an_alignment_that_is_no_power_of_two(scripted: Build, alignment: int) -> None:
    assert f"alignment is {alignment}" in fault(
        scripted(["a"], meta={"general.alignment": alignment})
    )


def _tokens(path: Path) -> list[bytes]:
    array = read_header(path).array("tokenizer.ggml.tokens")
    assert array is not None
    return array.strings()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({5: b"<0x01>"}, "its tokens 4 and 5 have the same text '<0x01>'"),
        ({280: b"q\0a", 281: b"q\0b"}, "280 and 281 have the same text 'q'"),
        ({280: b"", 281: b"[EMPTY_280]"}, "280 and 281 have the same text '[EMPTY_280]'"),
        ({13: b"newline"}, "lacks the byte <0x0A>"),
        ({258: b"last"}, "lacks the byte <0xFF>"),
    ],
)
def test_vocabularies_that_cannot_run(
    scripted: Build, emoji_gguf: Path, change: dict[int, bytes], message: str
) -> None:
    tokens = _tokens(emoji_gguf)
    for place, text in change.items():
        tokens[place] = text
    meta = {"tokenizer.ggml.tokens": (KINDS.STRING, tokens)}
    assert message in fault(scripted(["Hi ", b"\xf0\x9f\x98\x80", " bye"], meta=meta))


@pytest.mark.parametrize("change", [{13: b"\n"}, {258: b"\xff"}, {280: b"", 281: b"\0"}])
def test_vocabularies_that_can(scripted: Build, emoji_gguf: Path, change: dict[int, bytes]) -> None:
    tokens = _tokens(emoji_gguf)
    for place, text in change.items():
        tokens[place] = text
    meta = {"tokenizer.ggml.tokens": (KINDS.STRING, tokens)}
    check_model_file(scripted(["Hi ", b"\xf0\x9f\x98\x80", " bye"], meta=meta))


@pytest.mark.parametrize(
    "meta",
    [
        {"tokenizer.ggml.bos_token_id": 2**32 - 1},
        {"tokenizer.ggml.padding_token_id": 32000},
        {"llama.rope.scaling.type": "yarn"},
        {"llama.attention.head_count": (KINDS.UINT32, [5])},
        {"llama.expert_count": 0, "llama.expert_used_count": 0},
        {"general.alignment": None},
        {"tokenizer.ggml.scores": [-1.0] * 300},
    ],
)
def test_odd_headers_that_run(scripted: Build, meta: dict[str, Any]) -> None:
    check_model_file(scripted(["a"], meta=meta))


def test_only_a_vocabulary(tmp_path: Path, write_gguf: Callable[..., None]) -> None:
    write_gguf(tmp_path / "vocab.gguf", {"general.architecture": "llama"}, {})
    assert "only a vocabulary" in fault(tmp_path / "vocab.gguf")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (43, "newer than this engine"),
        (31, "no longer has"),
        (26, "has the type i32"),
        (12, "not where it should be|incomplete|broken blocks"),
    ],
)
def test_types_of_tensors(emoji_gguf: Path, tmp_path: Path, kind: int, message: str) -> None:
    data = bytearray(emoji_gguf.read_bytes())
    name = b"blk.0.ffn_down.weight"
    at = data.index(name) + len(name) + 4 + 16
    struct.pack_into("<I", data, at, kind)
    path = tmp_path / "types.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=message):
        check_model_file(path)


def test_who_needs_a_trial(scripted: Build, starter_gguf: Path, emoji_gguf: Path) -> None:
    assert not needs_trial(read_header(starter_gguf))
    assert needs_trial(read_header(emoji_gguf))  # a SentencePiece vocabulary
    unknown = scripted(["a"], meta={"general.architecture": "new-arch"})
    assert needs_trial(read_header(unknown))
    assert {"llama", "qwen3", "gemma3"} <= KNOWN and "bert" not in KNOWN


ENGINE = """
import ctypes, sys
import llama_cpp.llama_cpp as C
quiet = C.llama_log_callback(lambda level, text, data: None)
C.llama_log_set(quiet, ctypes.c_void_p(0))
model = C.llama_model_load_from_file(sys.argv[1].encode(), C.llama_model_default_params())
if not model:
    sys.exit("not loaded")
vocabulary = C.llama_model_get_vocab(model)
text = "Hi \\n\\x01 \U0001f600".encode()
ids = (C.llama_token * 64)()
count = C.llama_tokenize(vocabulary, text, len(text), ids, 64, False, True)
params = C.llama_context_default_params()
params.n_ctx, params.n_threads, params.n_threads_batch = 256, 1, 1
context = C.llama_init_from_model(model, params)
if not context or C.llama_decode(context, C.llama_batch_get_one(ids, count)):
    sys.exit("not decoded")
"""


def engine_dies(path: Path) -> bool:
    """Whether the engine ends a process that loads and runs the file."""
    environment = os.environ | {"GGML_NO_BACKTRACE": "1"}
    command = [sys.executable, "-c", ENGINE, str(path)]
    return subprocess.run(command, env=environment, capture_output=True).returncode < 0


KILLERS: list[dict[str, Any]] = [
    {"llama.block_count": 0},
    {"llama.block_count": 513},
    {"llama.nextn_predict_layers": 2},
    {"llama.expert_count": 4},
    {"llama.expert_used_count": 2},
    {"llama.rope.scaling.type": "bogus"},
    {"llama.attention.layer_norm_rms_epsilon": -1.0},
    {"llama.attention.layer_norm_rms_epsilon": float("nan")},
    {"tokenizer.ggml.model": "bert"},
    {"general.alignment": 1},
]


@pytest.mark.slow
@pytest.mark.parametrize("meta", KILLERS)
def test_what_kills_the_engine_is_refused(scripted: Build, meta: dict[str, Any]) -> None:
    path = scripted(["a"], meta=meta)
    assert engine_dies(path)
    fault(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "meta",
    [
        {"tokenizer.ggml.bos_token_id": 2**32 - 1},
        {"tokenizer.ggml.padding_token_id": 32000},
        {"llama.attention.head_count": (KINDS.UINT32, [5])},
        {"llama.rope.freq_base": 0.0},
        {"llama.rope.scaling.factor": float("nan")},
        {"general.name": "x" * 3_000_000},
        {"tokenizer.chat_template": 7},
        {"tokenizer.ggml.token_type": (KINDS.INT32, [99] * 288)},
    ],
)
def test_what_passes_does_not_kill_the_engine(scripted: Build, meta: dict[str, Any]) -> None:
    path = scripted(["a"], meta=meta)
    check_model_file(path)
    assert not engine_dies(path)
