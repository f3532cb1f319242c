"""The engine's batch over arrays that are allocated once: filling one makes no Python objects."""

from __future__ import annotations

import ctypes
from typing import Any

from nextok.backends.llama_library import library
from nextok.generation.errors import EngineError
from nextok.generation.model import Chunk


class LlamaBatch:
    """llama_batch: tokens, their positions and sequences, and which of them want logits."""

    def __init__(self, capacity: int) -> None:
        self._tokens = (ctypes.c_int32 * capacity)()
        self._positions = (ctypes.c_int32 * capacity)()
        self._counts = (ctypes.c_int32 * capacity)(*[1] * capacity)
        self._sequences = (ctypes.c_int32 * capacity)()
        self._wanted = (ctypes.c_int8 * capacity)()
        self.batch = library().llama_batch(
            n_tokens=0,
            token=self._tokens,
            embd=None,
            pos=self._positions,
            n_seq_id=self._counts,
            seq_id=self._pointers(capacity),
            logits=self._wanted,
        )

    def _pointers(self, capacity: int) -> Any:
        """The engine wants one pointer a token; each points at its own entry of `_sequences`."""
        pointer = ctypes.POINTER(ctypes.c_int32)
        start, size = ctypes.addressof(self._sequences), ctypes.sizeof(ctypes.c_int32)
        addresses = (ctypes.c_void_p * (capacity + 1))(
            *(start + index * size for index in range(capacity))
        )
        return ctypes.cast(addresses, ctypes.POINTER(pointer))

    def clear(self) -> None:
        self.batch.n_tokens = 0

    def set_one(self, token: int, position: int, sequence: int) -> None:
        """The batch of a decode: one token, its logits wanted."""
        self._set(0, token, position, sequence, 1)

    def _set(self, index: int, token: int, position: int, sequence: int, wanted: int) -> None:
        self._tokens[index] = token
        self._positions[index] = position
        self._sequences[index] = sequence
        self._wanted[index] = wanted
        self.batch.n_tokens = index + 1

    def add(self, chunk: Chunk, position: int, sequence: int) -> int:
        """Append a chunk; the index after its last token. EngineError when it does not fit."""
        first, count = self.batch.n_tokens, len(chunk.tokens)
        if count == 1 and first < len(self._tokens):  # of each sequence that speaks, in each pass
            self._set(first, chunk.tokens[0], position, sequence, chunk.rows)
            return int(first + 1)
        end = first + count
        if not count > 0 or end > len(self._tokens):  # either would end the process
            raise EngineError(f"a batch holds 1 to {len(self._tokens)} tokens, not {end}")
        self._tokens[first:end] = list(chunk.tokens)
        self._positions[first:end] = list(range(position, position + count))
        self._sequences[first:end] = [sequence] * count
        wanted = bytes(count - chunk.rows) + b"\1" * chunk.rows
        self._wanted[first:end] = list(wanted)
        self.batch.n_tokens = end
        return int(end)
