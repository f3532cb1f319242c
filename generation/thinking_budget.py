"""A sampler that ends a model's reasoning when it has taken long enough.

Promises to draw what the inner sampler draws, but for one closing tag that it forces. Refuses to
know text: whether the model is reasoning is asked of whoever reads along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nextok.generation.model import Logits, Sampler


class ThinkingBudget:
    """A Sampler over a Sampler."""

    def __init__(
        self,
        inner: Sampler,
        *,
        budget: int,
        in_reasoning: Callable[[], bool],
        closing: Sequence[int],
    ) -> None:
        """budget: in tokens; 0 closes a block as soon as it is open. closing: the tag's tokens."""
        self._inner = inner
        self._budget = budget
        self._in_reasoning = in_reasoning
        self._closing = closing
        self._thought = 0
        self._forced = 0

    def sample(self, logits: Logits) -> int:
        """Draw a token; over budget, force the closing tag's next one, until it is written."""
        if self._in_reasoning():
            self._thought += 1
        if self._thought > self._budget and self._forced < len(self._closing):
            token = self._closing[self._forced]
            self._forced += 1
            self._inner.accept(token)
            return token
        return self._inner.sample(logits)

    def accept(self, token: int) -> None:
        """Count a token that was not drawn here."""
        self._inner.accept(token)

    def reset(self) -> None:
        """Start again, with the whole budget."""
        self._inner.reset()
        self._thought = self._forced = 0
