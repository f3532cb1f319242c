"""llama.cpp's memory as caches: sequences of one context, each with its ledger.

Promises that a cache's `tokens` are the tokens in the engine's memory, also after an abort or a
failure, and that what comes after them is computed from all they left there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from nextok.backends.llama_batch import LlamaBatch
from nextok.backends.llama_library import library
from nextok.generation.errors import EngineError


class LlamaMemory:
    """The memory of one context, and which of its sequences are free."""

    def __init__(self, context: object, *, sequences: int, cuttable: bool, key_type: str) -> None:
        """cuttable: whether a sequence can be cut in the middle; not with recurrent layers."""
        self.context = context
        self.handle = library().llama_get_memory(context)
        self.cuttable = cuttable
        # Keys of bf16 cannot be turned to another place: the engine ends the process.
        self.shiftable = (
            cuttable and key_type != "bf16" and bool(library().llama_memory_can_shift(self.handle))
        )
        self.window = int(library().llama_model_n_swa(library().llama_get_model(context)))
        """How far back, in tokens, those layers look that do not see everything; 0: none."""
        self._free = list(range(sequences))
        self._lent: list[LlamaCache] = []

    @property
    def lent(self) -> int:
        """How many caches there are."""
        return len(self._lent)

    def new_cache(self) -> LlamaCache:
        """An empty sequence. EngineError when there is none left."""
        if not self._free:
            raise EngineError("the context has no free sequence")
        self._lent.append(LlamaCache(self, self._free.pop(0)))
        return self._lent[-1]

    def release(self, cache: LlamaCache) -> None:
        """Its sequence is free again."""
        self._lent.remove(cache)
        self._free.append(cache.sequence)

    def close(self) -> None:
        """The context is about to be freed: from now on its caches hold nothing."""
        for cache in self._lent:
            cache.tokens.clear()
        self.handle = None  # to which the engine does nothing

    def settle(self, failed: Sequence[tuple[LlamaCache, Sequence[int]]]) -> None:
        """After a cut-short pass over these: keep what the engine has certainly kept.

        A pass over several recurrent states first moves them together, and whatever lies
        between out of the way; cut short, it may have left any of them behind.
        """
        if self.cuttable:
            for cache, tokens in failed:
                cache.settle(tokens)
            return
        for cache in self._lent if len(failed) > 1 else [failed[0][0]]:
            cache.clear()


class LlamaCache:
    """One sequence of the context."""

    def __init__(self, memory: LlamaMemory, sequence: int) -> None:
        self._memory = memory
        self._llama = library()
        self.sequence = sequence
        self.tokens: list[int] = []
        self._shared = 0
        """How many of the first ones may lie in cells that are another cache's too."""

    def trim(self, length: int) -> int:
        """Cut; a memory that cannot be cut there is emptied."""
        if length >= len(self.tokens):
            return len(self.tokens)
        memory = self._memory.handle
        whole = length > 0 and self._holds_from(length + 1 - self._memory.window)
        if whole and self._llama.llama_memory_seq_rm(memory, self.sequence, length, -1):
            del self.tokens[length:]
            self._shared = min(self._shared, length)
        else:
            self.clear()
        return len(self.tokens)

    def _holds_from(self, position: int) -> bool:
        """Whether all is still there from this position on.

        In the layers with a window the engine gives the cells of what has left it to others, and
        an exported state is without them.
        """
        first = int(self._llama.llama_memory_seq_pos_min(self._memory.handle, self.sequence))
        return 0 <= first <= max(0, position)

    def shift(self, keep: int, discard: int) -> bool:
        """Cut in the middle, and have the engine turn the moved keys to their new places.

        It does so with the next pass: until then exported keys would be wrong, and a pass that
        is aborted turns some of them twice. So one is made here, over the last token.
        """
        end = keep + discard
        if not self._memory.shiftable or (self._shared > end and self._memory.lent > 1):
            return False
        if discard == 0:
            return True
        needed = len(self.tokens) - discard - self._memory.window
        if not self._holds_from(needed if needed < keep else needed + discard):
            return False
        memory = self._memory.handle
        self._llama.llama_memory_seq_rm(memory, self.sequence, keep, end)
        self._llama.llama_memory_seq_add(memory, self.sequence, end, -1, -discard)
        del self.tokens[keep:end]
        self._shared = min(self._shared, keep)
        return len(self.tokens) == keep or self._read_last_again()

    def _read_last_again(self) -> bool:
        """One pass that adds nothing; if it is aborted, nothing is certain and nothing kept."""
        last = len(self.tokens) - 1
        self._llama.llama_memory_seq_rm(self._memory.handle, self.sequence, last, -1)
        batch = LlamaBatch(1)
        batch.set_one(self.tokens[last], last, self.sequence)
        if self._llama.llama_decode(self._memory.context, batch.batch) == 0:
            return True
        self.clear()
        return False

    def clear(self) -> None:
        """Forget everything, which every kind of memory can do."""
        self._llama.llama_memory_seq_rm(self._memory.handle, self.sequence, -1, -1)
        self.tokens.clear()
        self._shared = 0

    def settle(self, tokens: Sequence[int]) -> None:
        """After a cut-short pass over `tokens`: take those that the engine has kept."""
        held = self._llama.llama_memory_seq_pos_max(self._memory.handle, self.sequence) + 1
        self.tokens.extend(tokens[: max(0, held - len(self.tokens))])

    def fork(self) -> LlamaCache:
        """A copy in a sequence of its own; the cells are shared until they differ."""
        twin = self._memory.new_cache()
        self._llama.llama_memory_seq_cp(
            self._memory.handle, self.sequence, twin.sequence, -1, -1
        )  # fmt: skip
        twin.tokens.extend(self.tokens)
        self._shared = twin._shared = len(self.tokens)
        return twin

    def export(self) -> bytes:
        """Keys and values as the engine lays them out: no logits, no identity of the model."""
        context = self._memory.context
        size = self._llama.llama_state_seq_get_size(context, self.sequence)
        buffer = (ctypes.c_uint8 * size)()
        written = self._llama.llama_state_seq_get_data(context, buffer, size, self.sequence)
        return bytes(memoryview(buffer)[:written])

    def restore(self, state: bytes, tokens: Sequence[int]) -> bool:
        """Take up an exported state. The engine checks its shape, the caller its origin."""
        self.clear()
        buffer = ctypes.cast(ctypes.c_char_p(state), ctypes.POINTER(ctypes.c_uint8))
        context = self._memory.context
        read = self._llama.llama_state_seq_set_data(context, buffer, len(state), self.sequence)
        last = self._llama.llama_memory_seq_pos_max(self._memory.handle, self.sequence)
        if read == 0 or last + 1 != len(tokens):
            self.clear()
            return False
        self.tokens.extend(tokens)
        return True

    def close(self) -> None:
        """Empty the sequence and give it back."""
        self.clear()
        self._memory.release(self)
