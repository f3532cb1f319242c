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
from typing import TypeAlias

from nextok.backends.ggml_types import TYPES
from nextok.backends.gguf_array import NUMBERS, Array
from nextok.backends.gguf_cursor import U32, U64, Cursor
from nextok.backends.shown_text import shown
from nextok.generation.errors import ModelError

Value: TypeAlias = int | float | bool | str | Array

STRING, ARRAY = 8, 9

# No real file comes near these; they bound the time and memory a hostile one can take.
_MAX_KEYS = 1 << 16
_MAX_TENSORS = 1 << 16
_MAX_ARRAY_BYTES = 1 << 28


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
            if data[:4] != b"GGUF":
                raise ModelError(f"{shown(path)}: not a GGUF file: nextok runs GGUF models")
            return _header(Cursor(path, data, status.st_size), path, status.st_size)
    finally:
        os.close(descriptor)


def _header(cursor: Cursor, path: Path, size: int) -> Header:
    """All of it, in the order of the file."""
    cursor.skip(4)
    version = _version(cursor, path)
    tensors, keys = cursor.number(U64), cursor.number(U64)
    if tensors > _MAX_TENSORS or keys > _MAX_KEYS:
        raise cursor.damaged(f"it claims {tensors} tensors and {keys} metadata keys")
    metadata: dict[str, Value] = {}
    types: dict[str, int] = {}
    for _ in range(keys):
        key = cursor.key()
        if not key or key in metadata:
            raise cursor.damaged(f"metadata key '{shown(key, 60)}' is empty or stands twice")
        types[key] = cursor.number(U32)
        metadata[key] = _value(cursor, path, key, types[key])
    return Header(
        path=path,
        version=version,
        metadata=metadata,
        types=types,
        tensors=tuple(_tensor(cursor) for _ in range(tensors)),
        data_offset=_aligned(cursor, metadata.get("general.alignment", 32)),
        file_size=size,
    )


def _version(cursor: Cursor, path: Path) -> int:
    version = cursor.number(U32)
    if version and version & 0xFFFF == 0:
        raise ModelError(
            f"{shown(path)}: a big-endian GGUF, made for other machines: get the little-endian file"
        )
    if version not in (2, 3):
        raise ModelError(
            f"{shown(path)}: GGUF version {version}, and 2 and 3 are supported:"
            " get a file made with a current llama.cpp"
        )
    return version


def _value(cursor: Cursor, path: Path, key: str, kind: int) -> Value:
    if kind == STRING:
        return cursor.text()
    if kind == ARRAY:
        return _array(cursor, path, key)
    if kind not in NUMBERS:
        raise cursor.damaged(f"'{shown(key, 60)}' has the unknown type {kind}")
    return cursor.scalar(NUMBERS[kind])


def _array(cursor: Cursor, path: Path, key: str) -> Array:
    """Find where an array ends, without making anything of its elements."""
    kind, length = cursor.number(U32), cursor.number(U64)
    start = cursor.at
    if kind == STRING:
        cursor.skip_strings(length)
    elif kind in NUMBERS:
        cursor.skip(length * NUMBERS[kind].size)
    else:
        raise cursor.damaged(f"'{shown(key, 60)}' is an array of the unknown type {kind}")
    if cursor.at - start > _MAX_ARRAY_BYTES:
        raise cursor.damaged(f"'{shown(key, 60)}' takes {cursor.at - start} bytes")
    return Array(path, kind, length, start, cursor.at - start)


def _tensor(cursor: Cursor) -> Tensor:
    name = cursor.key()
    dimensions = cursor.number(U32)
    if dimensions > 4:
        raise cursor.damaged(f"tensor '{shown(name, 60)}' has {dimensions} dimensions")
    dims = tuple(cursor.number(U64) for _ in range(dimensions))
    if math.prod(dims) >= 1 << 63:
        raise cursor.damaged(f"tensor '{shown(name, 60)}' has an impossible shape")
    kind, offset = cursor.number(U32), cursor.number(U64)
    return Tensor(name=name, dims=dims, type=kind, offset=offset)


def _aligned(cursor: Cursor, alignment: Value) -> int:
    """Where the data begins: the next multiple of the alignment, a power of two."""
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise cursor.damaged(f"its alignment is {shown(alignment, 20)}, no power of two")
    return -(-cursor.at // alignment) * alignment
