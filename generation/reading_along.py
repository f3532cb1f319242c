"""A sampler that reads what it draws, so that it is known whether the model is reasoning.

Whoever shows the text knows too, but later: a step that yields several tokens draws them all
before the first one is shown.
"""

from __future__ import annotations

from collections.abc import Callable

from nextok.generation.model import Logits, Sampler
from nextok.generation.reasoning import ReasoningSplitter
from nextok.generation.utf8 import Utf8


class ReadingAlong:
    """A Sampler over a Sampler, which draws what the inner one draws."""

    def __init__(
        self, inner: Sampler, splitter: ReasoningSplitter, piece: Callable[[int], bytes]
    ) -> None:
        """splitter: at the beginning of the reply, and nobody else's. piece: a token's bytes."""
        self.splitter = splitter
        self._inner = inner
        self._piece = piece
        self._utf8 = Utf8()

    def sample(self, logits: Logits) -> int:
        """Draw a token and read it."""
        token = self._inner.sample(logits)
        self._read(token)
        return token

    def accept(self, token: int) -> None:
        """Read a token of the reply that was not drawn here."""
        self._inner.accept(token)
        self._read(token)

    def reset(self) -> None:
        """Reset the inner sampler; what was read stays read."""
        self._inner.reset()

    def _read(self, token: int) -> None:
        self.splitter.feed(self._utf8.feed(self._piece(token)))
