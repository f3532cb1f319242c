"""The header reader: right values on sound files, ModelError and nothing else on the others."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nextok.backends.gguf_header import Header, read_header
from nextok.backends.model_check import check_model_file
from nextok.generation.errors import ModelError

KINDS = gguf.GGUFValueType
fuzz = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def test_every_type_of_value_comes_back(tmp_path: Path, write_gguf: Callable[..., None]) -> None:
    values = {
        "u8": (KINDS.UINT8, 200),
        "i8": (KINDS.INT8, -100),
        "u16": (KINDS.UINT16, 60000),
        "i16": (KINDS.INT16, -30000),
        "u32": (KINDS.UINT32, 4_000_000_000),
        "i32": (KINDS.INT32, -2_000_000_000),
        "u64": (KINDS.UINT64, 2**63 + 1),
        "i64": (KINDS.INT64, -(2**62)),
        "f32": (KINDS.FLOAT32, 0.5),
        "f64": (KINDS.FLOAT64, 0.1),
        "yes": (KINDS.BOOL, True),
        "text": (KINDS.STRING, "Grüße 😀\n"),
    }
    write_gguf(tmp_path / "a.gguf", values, {})
    header = read_header(tmp_path / "a.gguf")
    assert dict(header.metadata) == {key: value for key, (_, value) in values.items()}
    assert header.metadata["yes"] is True
    assert header.types["u16"] == 2
    assert (header.version, header.tensors) == (3, ())


def test_arrays_are_read_on_demand(tmp_path: Path, write_gguf: Callable[..., None]) -> None:
    words = ["one", "", "zwei\0drei", "😀"]
    arrays = {"words": words, "ints": (KINDS.INT32, [1, -2, 3]), "reals": (KINDS.FLOAT32, [0.5])}
    write_gguf(tmp_path / "a.gguf", arrays | {"after": 7}, {})
    header = read_header(tmp_path / "a.gguf")
    found = {key: header.array(key) for key in arrays}
    assert {key: array.length for key, array in found.items() if array} == {
        "words": 4,
        "ints": 3,
        "reals": 1,
    }
    assert found["words"] and found["words"].strings() == [word.encode() for word in words]
    assert found["ints"] and found["ints"].numbers() == [1, -2, 3]
    assert found["reals"] and found["reals"].numbers() == [0.5]
    assert header.integer("after") == 7


def test_an_array_says_so_when_its_file_shrank(
    tmp_path: Path, write_gguf: Callable[..., None]
) -> None:
    path = tmp_path / "a.gguf"
    write_gguf(path, {"words": ["one", "two"]}, {})
    array = read_header(path).array("words")
    os.truncate(path, 40)
    with pytest.raises(ModelError, match="changed while it was read"):
        assert array and array.strings()


def test_tensors_and_where_their_data_begin(
    tmp_path: Path, write_gguf: Callable[..., None]
) -> None:
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(5, np.float16)}
    write_gguf(tmp_path / "a.gguf", {"general.alignment": 32}, tensors)
    header = read_header(tmp_path / "a.gguf")
    a, b = header.tensors
    assert (a.name, a.dims, a.type, a.offset, a.elements, a.size) == ("a", (3, 2), 0, 0, 6, 24)
    assert (b.name, b.dims, b.type, b.offset, b.elements, b.size) == ("b", (5,), 1, 32, 5, 10)
    data = (tmp_path / "a.gguf").read_bytes()
    assert header.file_size == len(data)
    assert struct.unpack_from("<6f", data, header.data_offset) == (0, 1, 2, 3, 4, 5)


def test_a_real_model(starter_gguf: Path) -> None:
    header = read_header(starter_gguf)
    assert header.architecture == "llama"
    assert header.integer("llama.block_count") == 30
    assert len(header.tensors) == 272
    last = header.tensors[-1]
    assert header.data_offset + last.offset + (last.size or 0) == header.file_size
    tokens = header.array("tokenizer.ggml.tokens")
    assert tokens and tokens.strings()[1] == b"<|im_start|>"


def test_text_that_is_no_utf8_is_replaced(tmp_path: Path, write_gguf: Callable[..., None]) -> None:
    write_gguf(tmp_path / "a.gguf", {"text": (KINDS.STRING, b"a\xffb")}, {})
    assert read_header(tmp_path / "a.gguf").text("text") == "a\N{REPLACEMENT CHARACTER}b"


def test_version_2_is_read_too(emoji_gguf: Path, tmp_path: Path) -> None:
    data = emoji_gguf.read_bytes()
    (tmp_path / "v2.gguf").write_bytes(data[:4] + struct.pack("<I", 2) + data[8:])
    assert read_header(tmp_path / "v2.gguf").version == 2


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"", "empty"),
        (b"GG", "not a GGUF"),
        (b"GGUF", "incomplete"),
        (struct.pack("<4sI", b"GGUF", 1), "version 1"),
        (struct.pack("<4sI", b"GGUF", 4), "version 4"),
        (struct.pack("<4sI", b"GGUF", 0), "version 0"),
        (struct.pack(">4sI", b"GGUF", 3), "big-endian"),
        (struct.pack("<4sIQ", b"GGUF", 3, 0), "incomplete"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 2**40, 0), "damaged"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**62), "damaged"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1), "incomplete"),
        (struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 2**62), "incomplete"),
        (struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"k", 77), "damaged"),
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 9, 1), "damaged"),
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 4, 2**62), "incomplete"),
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 8, 2**62), "damaged"),
        (struct.pack("<4sIQQQ1sIIQQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 8, 9, 2**63), "incomplete"),
        (struct.pack("<4sIQQQI", b"GGUF", 3, 0, 1, 0, 4), "damaged"),
    ],
)
def test_absurd_headers(tmp_path: Path, head: bytes, message: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(head)
    with pytest.raises(ModelError, match=message) as caught:
        read_header(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_a_hole_of_a_terabyte_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hole.gguf"
    strings = struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 8, 2**30)
    path.write_bytes(strings)
    os.truncate(path, 1 << 40)
    with pytest.raises(ModelError, match="damaged"):
        read_header(path)


@pytest.fixture(scope="session")
def small(scripted: Callable[..., Path]) -> bytes:
    """A sound model without its weights' bulk: the header and a little more."""
    path = scripted(["a"], stem="small")
    return path.read_bytes()[: read_header(path).data_offset + 64]


def _outcome(path: Path, data: bytes) -> Header | None:
    path.write_bytes(data)
    try:
        read_header(path)
        return check_model_file(path)
    except ModelError as error:
        assert "\n" not in str(error)
        return None


@fuzz
@given(cut=st.integers(0, 20_000))
def test_cut_anywhere(tmp_path: Path, small: bytes, cut: int) -> None:
    assert _outcome(tmp_path / "fuzz.gguf", small[:cut]) is None


@fuzz
@given(
    changes=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=8)
)
def test_bytes_changed_anywhere(
    tmp_path: Path, small: bytes, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(small)
    for place, value in changes:
        data[place % len(data)] = value
    _outcome(tmp_path / "fuzz.gguf", bytes(data))


@fuzz
@given(place=st.integers(4, 3000), value=st.sampled_from([0, 1, 255, 2**31, 2**62, 2**64 - 1]))
def test_lengths_changed_at_the_front(tmp_path: Path, small: bytes, place: int, value: int) -> None:
    data = bytearray(small)
    struct.pack_into("<Q", data, place, value)
    _outcome(tmp_path / "fuzz.gguf", bytes(data))


@fuzz
@given(tail=st.binary(max_size=300))
def test_garbage_after_the_magic(tmp_path: Path, tail: bytes) -> None:
    assert _outcome(tmp_path / "fuzz.gguf", b"GGUF\3\0\0\0" + tail) is None
