"""llama.cpp as a Model: one context, its sequences, and the ledger of each.

Promises that a cache's `tokens` are the tokens in the engine's memory, also after an abort or a
failure. Knows nothing of text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from nextok.backends.llama_library import library, log
from nextok.backends.weights import ContextOptions
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import EngineError
from nextok.generation.model import Cache, Chunk

FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}
CACHE_TYPES = {  # ggml.h, enum ggml_type
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20,
    "bf16": 30,
}  # fmt: skip

_NO_SLOT, _ABORTED = 1, 2


class LlamaLogits:
    """A row of the last pass, in the engine's own memory."""

    def __init__(self, context: object, row: int, size: int) -> None:
        self._llama = library()
        self.context = context
        self.row = row
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, token: int) -> float:
        values = self._llama.llama_get_logits_ith(self.context, self.row)
        if not values:
            raise EngineError("the engine has no logits for this position")
        if not 0 <= token < self._size:
            raise IndexError(token)
        return float(values[token])


class LlamaCache:
    """One sequence of the context."""

    def __init__(self, model: LlamaModel, sequence: int) -> None:
        self._model = model
        self._llama = library()
        self.sequence = sequence
        self.tokens: list[int] = []

    def trim(self, length: int) -> int:
        """Cut; a memory that cannot be cut in the middle is emptied."""
        if length >= len(self.tokens):
            return len(self.tokens)
        memory = self._model.memory
        if length > 0 and self._llama.llama_memory_seq_rm(memory, self.sequence, length, -1):
            del self.tokens[length:]
        else:
            self.clear()
        return len(self.tokens)

    def clear(self) -> None:
        """Forget everything, which every kind of memory can do."""
        self._llama.llama_memory_seq_rm(self._model.memory, self.sequence, -1, -1)
        self.tokens.clear()

    def settle(self, tokens: Sequence[int]) -> None:
        """After a cut-short pass over `tokens`: keep what the engine has certainly kept."""
        held = self._llama.llama_memory_seq_pos_max(self._model.memory, self.sequence) + 1
        if self._model.keeps_partial_memory:
            self.tokens.extend(tokens[: max(0, held - len(self.tokens))])
        else:
            self.clear()

    def fork(self) -> LlamaCache:
        """A copy in a sequence of its own; the cells are shared until they differ."""
        twin = self._model.new_cache()
        self._llama.llama_memory_seq_cp(
            self._model.memory, self.sequence, twin.sequence, -1, -1
        )  # fmt: skip
        twin.tokens.extend(self.tokens)
        return twin

    def export(self) -> bytes:
        """Keys and values as the engine lays them out: no logits, no identity of the model."""
        context = self._model.context
        size = self._llama.llama_state_seq_get_size(context, self.sequence)
        buffer = (ctypes.c_uint8 * size)()
        written = self._llama.llama_state_seq_get_data(context, buffer, size, self.sequence)
        return bytes(memoryview(buffer)[:written])

    def restore(self, state: bytes, tokens: Sequence[int]) -> bool:
        """Take up an exported state. The engine checks its shape, the caller its origin."""
        self.clear()
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        context = self._model.context
        read = self._llama.llama_state_seq_set_data(context, buffer, len(state), self.sequence)
        last = self._llama.llama_memory_seq_pos_max(self._model.memory, self.sequence)
        if read == 0 or last + 1 != len(tokens):
            self.clear()
            return False
        self.tokens.extend(tokens)
        return True

    def close(self) -> None:
        """Empty the sequence and give it back."""
        self.clear()
        self._model.release(self.sequence)


class LlamaModel:
    """A context over loaded weights."""

    def __init__(
        self,
        weights: object,
        options: ContextOptions,
        abort: Abort,
        *,
        vocabulary_size: int,
        keeps_partial_memory: bool,
    ) -> None:
        """weights: the engine's handle. EngineError when the engine cannot make such a context."""
        self._llama = library()
        self._abort = abort
        self._cell = (ctypes.c_char * 2).from_buffer(abort.cell)
        self._vocabulary_size = vocabulary_size
        self.keeps_partial_memory = keeps_partial_memory
        self.context_size = options.context_size
        self.context = self._make_context(weights, options)
        self.memory = self._llama.llama_get_memory(self.context)
        self.batch_size = int(self._llama.llama_n_batch(self.context))
        self._batch = _Batch(self.batch_size)
        self._free = list(range(options.sequences))

    def _make_context(self, weights: object, options: ContextOptions) -> Any:
        log.clear()
        context = self._llama.llama_init_from_model(weights, self._params(options))
        if not context:
            raise EngineError(
                f"no context of {options.context_size} tokens: {log.reason()}; "
                "lower --ctx-size or change the cache types"
            )
        self._llama.llama_set_abort_callback(context, _strlen(), ctypes.addressof(self._cell))
        return context

    def _params(self, options: ContextOptions) -> Any:
        params = self._llama.llama_context_default_params()
        params.n_ctx = options.context_size
        params.n_batch = options.batch_size
        params.n_ubatch = min(options.ubatch_size, options.batch_size)
        params.n_seq_max = options.sequences
        params.n_threads = params.n_threads_batch = options.threads
        params.flash_attn_type = FLASH_ATTENTION[options.flash_attention]
        params.type_k = CACHE_TYPES[options.cache_type_k]
        params.type_v = CACHE_TYPES[options.cache_type_v]
        params.kv_unified = True  # sequences share cells, so that a fork copies nothing
        return params

    def new_cache(self) -> LlamaCache:
        """An empty sequence."""
        if not self._free:
            raise EngineError("the context has no free sequence")
        return LlamaCache(self, self._free.pop(0))

    def release(self, sequence: int) -> None:
        """A sequence is free again."""
        self._free.append(sequence)

    def prefill(self, tokens: Sequence[int], cache: Cache) -> LlamaLogits:
        """Append up to a batch of tokens in one pass."""
        return self.extend([Chunk(cache, tokens)])[0]

    def decode(self, token: int, cache: Cache) -> LlamaLogits:
        """Append one token. The hot path: nothing here grows with the text."""
        sequence = _sequence(cache)
        self._batch.set_one(token, len(sequence.tokens), sequence.sequence)
        self._run([(sequence, (token,))])
        return LlamaLogits(self.context, 0, self._vocabulary_size)

    def extend(self, batch: Sequence[Chunk]) -> list[LlamaLogits]:
        """Append to several sequences in one pass."""
        self._batch.clear()
        rows: list[int] = []
        for chunk in batch:
            sequence = _sequence(chunk.cache)
            first = self._batch.add(chunk, len(sequence.tokens), sequence.sequence)
            rows.extend(range(first - chunk.rows, first))
        self._run([(_sequence(chunk.cache), chunk.tokens) for chunk in batch])
        return [LlamaLogits(self.context, row, self._vocabulary_size) for row in rows]

    def _run(self, appended: list[tuple[LlamaCache, Sequence[int]]]) -> None:
        self._abort.check()  # a GPU does not ask on its own
        status = self._llama.llama_decode(self.context, self._batch.batch)
        for cache, tokens in appended:
            if status == 0:
                cache.tokens.extend(tokens)
            else:
                cache.settle(tokens)
        if status == _ABORTED:
            raise Aborted
        if status == _NO_SLOT:
            raise EngineError("the context has no room left: raise --ctx-size")
        if status != 0:
            raise EngineError(f"the engine failed to decode ({status}): {log.reason()}")

    def close(self) -> None:
        """Free the context; its caches are void."""
        if self.context:
            self._llama.llama_free(self.context)
            self.context = None


class _Batch:
    """llama_batch over arrays that are allocated once."""

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
        self._tokens[0] = token
        self._positions[0] = position
        self._sequences[0] = sequence
        self._wanted[0] = 1
        self.batch.n_tokens = 1

    def add(self, chunk: Chunk, position: int, sequence: int) -> int:
        """Append a chunk; the index after its last token. EngineError when it does not fit."""
        first, count = self.batch.n_tokens, len(chunk.tokens)
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


def _sequence(cache: Cache) -> LlamaCache:
    if not isinstance(cache, LlamaCache):
        raise EngineError("a cache of another backend was handed to llama.cpp")
    return cache


def _strlen() -> Any:
    """C's strlen as the engine's abort callback: false while the cell is empty, true after.

    It is asked before every node of the graph, hundreds of times a token; a Python function
    there would cost 2 % of the speed, and could not run while the interpreter waits.
    """
    return ctypes.cast(ctypes.CDLL(None).strlen, library().ggml_abort_callback)
