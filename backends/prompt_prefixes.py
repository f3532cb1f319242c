"""The beginnings of a prompt: the longest that is kept, and the one that is worth keeping.

Promises that what is taken up was computed from exactly these tokens, in passes that end where
those of a fresh run do. A beginning is kept when it is seen for the second time; the first time
leaves its hashes. Knows neither engines nor when a state is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from nextok.backends.kv_store import KvEntry, KvStore
from nextok.backends.token_blocks import chained_hashes, shared_blocks
from nextok.generation.model import Cache

KIND = "prompt-"
"""What the keys of prompts begin with."""

_LEAST_BLOCK = 32
"""Tokens: to cut in smaller steps would save less than it costs."""
_LEAST_GAIN = 8
"""What is kept must be longer than what was there by one part in so many: else a text that grows
with each run would be written again with each, to save next to nothing. Not if it is asked for."""


class PromptPrefixes:
    """Those of one prompt, in a store that any number of processes may use at once."""

    def __init__(
        self,
        store: KvStore,
        prompt: Sequence[int],
        *,
        identity: str,
        pass_tokens: int,
        least_tokens: int,
    ) -> None:
        """identity: of the model, and of the settings that a state depends on. pass_tokens: how
        many are computed at once, the engine's ubatch. least_tokens: shorter beginnings are
        neither kept nor looked for."""
        self._store = store
        self._identity = identity
        # Cut where a pass ends, so that it is the end of one also for those who go on from there.
        self._block = -(-_LEAST_BLOCK // pass_tokens) * pass_tokens
        # At least the last token is left to be read: only a pass makes logits.
        self._prompt = list(prompt[: (len(prompt) - 1) // self._block * self._block])
        self._hashes = chained_hashes(self._prompt, self._block, f"{pass_tokens} {identity}")
        self._least = max(1, -(-least_tokens // self._block))
        """In blocks."""

    def restore(self, cache: Cache) -> int:
        """Take up the longest that is kept into an empty cache; how many tokens."""
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
        if not self._is_long:
            return 0
        seen = self._store.seen.leading(self._hashes)
        self._store.seen.add(self._hashes[seen:])
        blocks = len(self._hashes) if at_once else seen
        length = blocks * self._block
        is_worth_it = at_once or (length - held) * _LEAST_GAIN >= length
        return length if blocks >= self._least and length > held and is_worth_it else 0

    def keep(self, length: int, state: bytes) -> bool:
        """Keep the state of so many tokens; whether it could be."""
        key = f"{self._group}/{self._hashes[length // self._block - 1]:016x}"
        return self._store.put(key, self._identity, self._prompt[:length], state)

    @property
    def _group(self) -> str:
        """Of all prompts that begin like this one: so that no others need to be looked at."""
        return f"{KIND}{self._hashes[self._least - 1]:016x}"

    @property
    def _is_long(self) -> bool:
        """Whether there is a beginning that may be kept."""
        return len(self._hashes) >= self._least

    def _candidates(self) -> list[tuple[int, KvEntry]]:
        """What is kept of prompts that begin alike, and how many tokens of each can be used.

        The longest comes first; of equal ones, one that ends there, then the one used last.
        """
        if not self._is_long:
            return []
        found = [
            (shared_blocks(tokens, self._prompt, self._block) * self._block, entry)
            for entry, tokens in self._store.group(self._group)
            if entry.identity == self._identity
        ]
        return sorted(
            (one for one in found if one[0] >= self._least * self._block),
            key=lambda one: (-one[0], one[1].token_count),
        )
