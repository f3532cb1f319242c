"""The beginnings of a prompt: the longest that is kept, and the one that is worth keeping.

Promises that what is taken up was computed from exactly these tokens, in passes that end where
those of a fresh run do. A beginning is kept when it is seen for the second time; the first time
leaves its hashes. Knows neither engines nor when a state is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nextok.backends.kv_store import KvEntry, KvStore
from nextok.backends.token_blocks import chained_hashes, shared_blocks
from nextok.generation.model import Cache

KIND = "prompt-"
"""What the keys of prompts begin with."""

_LEAST_BLOCK = 32
_LEAST_GAIN = 8
"""What is kept must be longer than what was there by one part in so many: else a text that grows
with each run would be written again with each, to save next to nothing."""


@dataclass(frozen=True, kw_only=True)
class ReadingOrder:
    """How prompts are read: in what two runs must agree to take up each other's states."""

    identity: str
    """Of the model, and of the settings that a state depends on."""
    pass_tokens: int
    """How many are computed at once: the engine's ubatch."""

    @property
    def block_tokens(self) -> int:
        """States are cut at multiples of this: where a pass ends, and not too often."""
        return -(-_LEAST_BLOCK // self.pass_tokens) * self.pass_tokens


class PromptPrefixes:
    """Those of one prompt, in a store that any number of processes may use at once."""

    def __init__(
        self, store: KvStore, order: ReadingOrder, prompt: Sequence[int], *, least_tokens: int
    ) -> None:
        """least_tokens: shorter beginnings are neither kept nor looked for."""
        self._store = store
        self._identity = order.identity
        self._block = order.block_tokens
        # At least the last token is left to be read: only a pass makes logits.
        self._prompt = list(prompt[: (len(prompt) - 1) // self._block * self._block])
        origin = f"{order.pass_tokens} {order.identity}"
        self._hashes = chained_hashes(self._prompt, self._block, origin)
        self._least = max(1, -(-least_tokens // self._block))
        """In blocks."""

    def restore(self, cache: Cache) -> int:
        """Take up the longest that is kept into an empty cache; how many tokens."""
        if len(self._hashes) < self._least:
            return 0
        for length, entry in self._candidates():
            kept = self._store.get(entry.key, self._identity, prefix=self._prompt[:length])
            if kept is not None and cache.restore(kept.state, kept.tokens):
                if cache.trim(length) == length:
                    return length
                cache.trim(0)  # a memory that can only be taken up whole
        return 0

    def wanted(self, held: int, *, at_once: bool) -> int:
        """How many tokens are to be kept, 0: none. All of them have been seen from now on.

        held: as many were restored. at_once: whether they need not have been seen before.
        """
        seen = self._store.seen.leading(self._hashes)
        self._store.seen.add(self._hashes[seen:])
        blocks = len(self._hashes) if at_once else seen
        length = blocks * self._block
        if blocks < self._least or (length - held) * _LEAST_GAIN < length:
            return 0
        return length

    def keep(self, length: int, state: bytes) -> bool:
        """Keep the state of so many tokens; whether it could be."""
        key = f"{self._group}/{self._hashes[length // self._block - 1]:016x}"
        return self._store.put(key, self._identity, self._prompt[:length], state)

    @property
    def _group(self) -> str:
        """Of all prompts that begin like this one: so that no others need to be looked at."""
        return f"{KIND}{self._hashes[self._least - 1]:016x}"

    def _candidates(self) -> list[tuple[int, KvEntry]]:
        """What is kept of prompts that begin alike, and how many tokens of each can be used.

        The longest comes first; of equal ones, one that ends there, then the one used last.
        """
        found = [
            (shared_blocks(tokens, self._prompt, self._block) * self._block, entry)
            for entry, tokens in self._store.group(self._group)
            if entry.identity == self._identity
        ]
        return sorted(
            (one for one in found if one[0] >= self._least * self._block),
            key=lambda one: (-one[0], one[1].token_count),
        )
