"""llama.cpp as a Model: one context over loaded weights. Knows nothing of text."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from nextok.backends.llama_batch import LlamaBatch
from nextok.backends.llama_cache import LlamaCache, LlamaMemory
from nextok.backends.llama_library import library, log
from nextok.backends.llama_numbers import holds_nan
from nextok.backends.options import ContextOptions
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
        if not 0 <= token < self._size:
            raise IndexError(token)
        return float(self.pointer()[token])

    def holds_nan(self) -> bool:
        """Whether any of them is not a number."""
        return holds_nan(self.pointer(), self._size)

    def pointer(self) -> Any:
        """Where the numbers are. EngineError when the last pass left none for this row."""
        values = self._llama.llama_get_logits_ith(self.context, self.row)
        if not values:
            raise EngineError("the engine has no logits for this position")
        return values


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
        shares = 1 if options.unified else options.sequences
        self.context_size = options.context_size // shares
        self.context = self._make_context(weights, options)
        self._memory = LlamaMemory(
            self.context,
            sequences=options.sequences,
            cuttable=keeps_partial_memory,
            key_type=options.cache_type_k,
        )
        self.batch_size = int(self._llama.llama_n_batch(self.context))
        self._batch = LlamaBatch(self.batch_size)

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
        params.n_ubatch = min(options.ubatch_size, options.batch_size)
        # Whole ubatches, so that each of a prompt's ends at a multiple of their size.
        params.n_batch = options.batch_size // params.n_ubatch * params.n_ubatch
        params.n_seq_max = options.sequences
        params.n_threads = params.n_threads_batch = options.threads
        params.flash_attn_type = FLASH_ATTENTION[options.flash_attention]
        params.type_k = CACHE_TYPES[options.cache_type_k]
        params.type_v = CACHE_TYPES[options.cache_type_v]
        params.kv_unified = options.unified
        return params

    def new_cache(self) -> LlamaCache:
        """An empty sequence."""
        return self._memory.new_cache()

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
        if status == 0:
            for cache, tokens in appended:
                cache.tokens.extend(tokens)
            return
        self._memory.settle(appended)
        if status == _ABORTED:
            raise Aborted
        if status == _NO_SLOT:
            raise EngineError("the context has no room left: raise --ctx-size")
        raise EngineError(f"the engine failed to decode ({status}): {log.reason()}")

    def set_threads(self, threads: int) -> None:
        """For passes of one token and of many alike."""
        self._llama.llama_set_n_threads(self.context, threads, threads)

    def close(self) -> None:
        """Free the context; its caches are void."""
        if self.context:
            self._memory.close()
            self._llama.llama_free(self.context)
            self.context = None


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
