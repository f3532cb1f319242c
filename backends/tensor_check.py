"""A tensor table the engine can work with: all of the data there, in types it computes with."""

from __future__ import annotations

from collections.abc import Iterable

from nextok.backends.architectures import KNOWN
from nextok.backends.ggml_types import NEWEST_TYPE, TYPES
from nextok.backends.gguf_header import Header, Tensor
from nextok.backends.shown_text import shown

_BUFFER_ALIGNMENT = 32
"""Where a mapped tensor may begin (ggml-backend.cpp, TENSOR_ALIGNMENT)."""

_TABLES = {"i8", "i16", "i32", "i64", "f64", "q8_1", "q8_K"}
"""Types of intermediate results and of tables, which no matrix product takes as weights."""
_NO_WEIGHTS = {number for number, kind in TYPES.items() if kind.name in _TABLES}


def table_fault(header: Header) -> str | None:
    """What is wrong with the table or the length of the file, in words; None when nothing is."""
    end = needed = 0
    alignment = header.integer("general.alignment") or 32
    for tensor in header.tensors:
        size = tensor.size
        if size is None:
            return _size_fault(tensor)
        start = header.data_offset + tensor.offset
        if tensor.offset != end:
            return f"damaged: {_name(tensor)} is not where it should be"
        if start % _BUFFER_ALIGNMENT:
            return f"its alignment is {alignment}, and the engine needs {_BUFFER_ALIGNMENT}"
        needed = start + size
        end += -(-size // alignment) * alignment
    if needed > header.file_size:
        return f"incomplete: it has {header.file_size} bytes and needs {needed}"
    return None


def type_fault(architecture: str, tensors: Iterable[Tensor]) -> str | None:
    """A weight in a type the processor's code has no operation for; None when there is none.

    Only where the architecture is known to keep nothing but weights in its tensors.
    """
    if architecture not in KNOWN:
        return None
    for tensor in tensors:
        if tensor.type in _NO_WEIGHTS:
            return f"{_name(tensor)} has the type {TYPES[tensor.type].name}"
        if tensor.type != 0 and len(tensor.dims) == 1 and _is_added(tensor.name):
            return f"{_name(tensor)} has the type {TYPES[tensor.type].name}, and f32 is needed"
    return None


def _size_fault(tensor: Tensor) -> str:
    if tensor.type > NEWEST_TYPE:
        return f"{_name(tensor)} has the type {tensor.type}, which is newer than this engine"
    if tensor.type not in TYPES:
        return f"{_name(tensor)} has the type {tensor.type}, which llama.cpp no longer has"
    return f"damaged: {_name(tensor)} has rows of broken blocks"


def _is_added(name: str) -> bool:
    """Norms and biases meet activations number by number, which are 32-bit floats."""
    return name.endswith(("norm.weight", ".bias"))


def _name(tensor: Tensor) -> str:
    return f"tensor '{shown(tensor.name, 60)}'"
