"""The header of a GGUF file, read in plain Python.

Promises that every file gives either a Header or a ModelError, soon and in little memory: all
counts and lengths are checked against what is there. Refuses to know what the values mean.
Format: ggml/docs/gguf.md, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import TypeAlias

from nextok.backends.ggml_types import TYPES
from nextok.backends.gguf_array import NUMBERS, Array
from nextok.generation.errors import ModelError

Value: TypeAlias = int | float | bool | str | Array

STRING, ARRAY = 8, 9

# No real file comes near these; they bound the time and memory a hostile one can take.
_MAX_KEYS = 1 << 16
_MAX_TENSORS = 1 << 16
_MAX_TEXT_BYTES = 1 << 26
_MAX_ARRAY_BYTES = 1 << 28
_MAX_ARRAY_STRINGS = 1 << 23

_U32, _U64, _COUNTS = Struct("<I"), Struct("<Q"), Struct("<QQ")


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One entry of the tensor table; `offset` counts bytes from the start of the data."""

    name: str
    dims: tuple[int, ...]
    type: int
    offset: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.dims)

    @property
    def size(self) -> int | None:
        """Its bytes; None when the engine does not know the type, or a row is no whole blocks."""
        kind = TYPES.get(self.type)
        row = self.dims[0] if self.dims else 1
        if kind is None or row % kind.block:
            return None
        return self.elements // kind.block * kind.size


@dataclass(frozen=True, kw_only=True)
class Header:
    """All that stands before the weights."""

    path: Path
    version: int
    metadata: Mapping[str, Value]
    types: Mapping[str, int]
    """The GGUF type number of each metadata value, for the engine insists on exact types."""
    tensors: tuple[Tensor, ...]
    data_offset: int
    file_size: int

    @property
    def architecture(self) -> str:
        """`general.architecture`, empty when there is none."""
        return self.text("general.architecture") or ""

    def text(self, key: str) -> str | None:
        """A string value, None when it is absent or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        """A whole number, None when it is absent or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def array(self, key: str) -> Array | None:
        """An array, None when it is absent or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, Array) else None

    def of_architecture(self, key: str) -> str:
        """The full name of a key that carries the architecture's name in front."""
        return f"{self.architecture}.{key}"


def read_header(path: Path) -> Header:
    """Read one file's header. The file is mapped only meanwhile: nothing of it stays in memory.

    Raises ModelError for all that is no GGUF, is cut off, or makes no sense, and OSError.
    """
    # O_NONBLOCK: opening a pipe that nobody writes to would otherwise wait for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{shown(path)}: not a regular file: give the path of a .gguf file")
        if status.st_size == 0:
            raise ModelError(f"{shown(path)}: empty (0 bytes): download it again")
        with mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ) as data:
            return _Reader(path, data, status.st_size).header()
    finally:
        os.close(descriptor)


def shown(value: object, limit: int = 1000) -> str:
    """Text from outside made fit for one line of a message: printable, and not endless."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))
    return text if len(text) <= limit else text[:limit] + "…"


class _Reader:
    """A cursor over the mapped file."""

    def __init__(self, path: Path, data: mmap.mmap, size: int) -> None:
        self._path = path
        self._data = data
        self._size = size
        self._at = 0
        self._text_bytes = 0
        self._array_strings = 0

    def header(self) -> Header:
        """The whole of it, in the order of the file."""
        version, tensors, keys = self._preamble()
        metadata: dict[str, Value] = {}
        types: dict[str, int] = {}
        for _ in range(keys):
            key = self._string(1 << 16)
            if not key or key in metadata:
                raise self._damaged(f"metadata key '{shown(key, 60)}' is empty or stands twice")
            types[key] = self._number(_U32)
            metadata[key] = self._value(key, types[key])
        table = tuple(self._tensor() for _ in range(tensors))
        return Header(
            path=self._path,
            version=version,
            metadata=metadata,
            types=types,
            tensors=table,
            data_offset=self._aligned(metadata.get("general.alignment", 32)),
            file_size=self._size,
        )

    def _preamble(self) -> tuple[int, int, int]:
        """Version and the two counts."""
        if self._data[:4] != b"GGUF":
            raise ModelError(f"{shown(self._path)}: not a GGUF file: nextok runs GGUF models")
        self._at = 4
        version = self._number(_U32)
        if version and version & 0xFFFF == 0:
            raise ModelError(
                f"{shown(self._path)}: a big-endian GGUF, made for other machines:"
                " get the little-endian file"
            )
        if version not in (2, 3):
            raise ModelError(
                f"{shown(self._path)}: GGUF version {version}, and 2 and 3 are supported:"
                " get a file made with a current llama.cpp"
            )
        tensors, keys = self._counts()
        if tensors > _MAX_TENSORS or keys > _MAX_KEYS:
            raise self._damaged(f"it claims {tensors} tensors and {keys} metadata keys")
        return version, tensors, keys

    def _counts(self) -> tuple[int, int]:
        if self._at + _COUNTS.size > self._size:
            raise self._cut_off()
        tensors, keys = _COUNTS.unpack_from(self._data, self._at)
        self._at += _COUNTS.size
        return tensors, keys

    def _value(self, key: str, kind: int) -> Value:
        if kind == STRING:
            return self._string(_MAX_TEXT_BYTES)
        if kind == ARRAY:
            return self._array(key)
        number = NUMBERS.get(kind)
        if number is None:
            raise self._damaged(f"'{shown(key, 60)}' has the unknown type {kind}")
        return self._number(number)

    def _array(self, key: str) -> Array:
        """Find where an array ends, without making anything of its elements."""
        kind, length = self._number(_U32), self._number(_U64)
        start = self._at
        if kind == STRING:
            self._skip_strings(length)
        elif kind in NUMBERS:
            self._skip(length * NUMBERS[kind].size)
        else:
            raise self._damaged(f"'{shown(key, 60)}' is an array of the unknown type {kind}")
        if self._at - start > _MAX_ARRAY_BYTES:
            raise self._damaged(f"'{shown(key, 60)}' takes {self._at - start} bytes")
        return Array(self._path, kind, length, start, self._at - start)

    def _skip_strings(self, count: int) -> None:
        self._array_strings += count
        if self._array_strings > _MAX_ARRAY_STRINGS:
            raise self._damaged(f"its arrays claim {self._array_strings} strings")
        # One pass per vocabulary entry: local names, and the end of the file found by the error.
        at, data, unpack = self._at, self._data, _U64.unpack_from
        try:
            for _ in range(count):
                at += 8 + unpack(data, at)[0]
        except (StructError, IndexError, OverflowError):
            raise self._cut_off() from None
        self._skip(at - self._at)

    def _tensor(self) -> Tensor:
        name = self._string(1 << 16)
        dimensions = self._number(_U32)
        if dimensions > 4:
            raise self._damaged(f"tensor '{shown(name, 60)}' has {dimensions} dimensions")
        dims = tuple(self._number(_U64) for _ in range(dimensions))
        if math.prod(dims) >= 1 << 63:
            raise self._damaged(f"tensor '{shown(name, 60)}' has an impossible shape")
        kind, offset = self._number(_U32), self._number(_U64)
        return Tensor(name=name, dims=dims, type=kind, offset=offset)

    def _aligned(self, alignment: Value) -> int:
        """Where the data begins: the next multiple of the alignment, a power of two."""
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise self._damaged(f"its alignment is {shown(alignment, 20)}, no power of two")
        return -(-self._at // alignment) * alignment

    def _string(self, limit: int) -> str:
        length = self._number(_U64)
        start = self._at
        self._text_bytes += length
        if length > self._size - start:
            raise self._cut_off()
        if length > limit or self._text_bytes > _MAX_TEXT_BYTES:
            raise self._damaged(f"it holds a text of {length} bytes")
        self._at += length
        return self._data[start : self._at].decode("utf-8", "replace")

    def _number(self, shape: Struct) -> int:
        if self._at + shape.size > self._size:
            raise self._cut_off()
        (value,) = shape.unpack_from(self._data, self._at)
        self._at += shape.size
        return value  # type: ignore[no-any-return]  # struct does not know its own formats

    def _skip(self, count: int) -> None:
        if count > self._size - self._at:
            raise self._cut_off()
        self._at += count

    def _cut_off(self) -> ModelError:
        return ModelError(
            f"{shown(self._path)}: incomplete: it has {self._size} bytes and its header needs"
            " more: download it again"
        )

    def _damaged(self, what: str) -> ModelError:
        return ModelError(f"{shown(self._path)}: damaged: {what}: download it again")
