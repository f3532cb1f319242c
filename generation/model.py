"""The seams: what the loop needs from whatever turns tokens into logits.

Promises nothing about how a model computes. A backend that keeps these contracts (one test
suite holds them all to it) can be run by every loop, sampler and experiment in nextok.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Logits(Protocol):
    """One row of scores, one per vocabulary entry, left in the engine and read in place.

    Valid until the model's next prefill, decode or extend, or a cache's shift.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, token: int, /) -> float: ...


class Cache(Protocol):
    """The KV cache of one sequence and its ledger."""

    @property
    def tokens(self) -> Sequence[int]:
        """Exactly the tokens whose keys and values are held, in order."""

    def trim(self, length: int) -> int:
        """Forget all but the first `length` tokens; how many remain.

        That may be fewer, down to 0: a recurrent memory cannot be cut in the middle.
        """

    def shift(self, keep: int, discard: int) -> bool:
        """Forget tokens [keep, keep + discard) and move the rest down; whether it was done.

        What moves is not computed again: it remembers the forgotten tokens, which were there when
        it was read. False, and nothing changed, where the memory cannot: it is recurrent, or
        shares what would move with a fork. False, and nothing held, when it was aborted. Voids
        logits like a decode. shift(0, 0) does nothing but say whether there can be others.
        """

    def fork(self) -> Cache:
        """A second cache that holds the same tokens and goes its own way from here."""

    def export(self) -> bytes:
        """The keys and values as bytes, for `restore` on a cache of the same model and settings."""

    def restore(self, state: bytes, tokens: Sequence[int]) -> bool:
        """Take up an exported state that holds `tokens`; False leaves the cache empty."""

    def close(self) -> None:
        """Give the sequence back to the model."""


class Chunk(NamedTuple):
    """Tokens to append to one sequence, and for how many of the last ones logits are wanted."""

    cache: Cache
    tokens: Sequence[int]
    rows: int = 1


class Model(Protocol):
    """Turns tokens into the logits of what comes next."""

    @property
    def context_size(self) -> int:
        """The most tokens a sequence may hold."""

    @property
    def batch_size(self) -> int:
        """The most tokens one extend may carry, all its chunks together."""

    def new_cache(self) -> Cache:
        """An empty sequence. EngineError when the model has none left."""

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Logits:
        """Append up to `batch_size` tokens; the logits after the last one.

        Raises Aborted, with the ledger cut back to what is certain, and EngineError.
        """

    def decode(self, token: int, cache: Cache) -> Logits:
        """Append one token; the logits after it. Raises like prefill."""

    def extend(self, batch: Sequence[Chunk]) -> Sequence[Logits]:
        """Append to several sequences in one pass; the rows wanted, chunk after chunk.

        prefill and decode are its one-sequence cases. Raises like prefill.
        """


class Tokenizer(Protocol):
    """Text to token ids and back to bytes."""

    @property
    def bos(self) -> int | None:
        """The token every sequence of this model begins with, if it has one."""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """The ids of `text`, nothing added. `special` lets control-token texts become tokens."""

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for: any part of a character; none for a control token."""

    def is_end(self, token: int) -> bool:
        """Whether the model says with this token that it has finished."""

    def is_control(self, token: int) -> bool:
        """Whether the token steers the model instead of standing for text."""

    def text(self, token: int) -> str:
        """A token as one reads it in a list; control tokens by their names."""


class Sampler(Protocol):
    """Chooses the next token."""

    def sample(self, logits: Logits) -> int:
        """Draw a token and accept it. EngineError when its logit is not a finite number."""

    def accept(self, token: int) -> None:
        """Count a token that was not drawn here (prompt, forced) into the penalties."""

    def reset(self) -> None:
        """Forget all accepted tokens and start the random stream again."""
