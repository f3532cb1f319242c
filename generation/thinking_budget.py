"""A sampler that ends a model's reasoning when it has taken long enough.

Promises to draw what the inner sampler draws, but for one closing tag that it forces. Refuses to
know text: whether the model is reasoning is asked of whoever reads along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nextok.generation.model import Logits, Sampler


class ThinkingBudget:
    """A Sampler over a Sampler."""

    def __init__(
        self,
        inner: Sampler,
        *,
        budget: int,
        in_reasoning: Callable[[], bool],
        closing: Callable[[], Sequence[int]],
    ) -> None:
        """budget: in tokens; 0 closes a block as soon as it is open.

        closing: the tokens of the tag that closes it; asked when they are needed, for the model
        may choose how it fences its reasoning.
        """
        self._inner = inner
        self._budget = budget
        self._in_reasoning = in_reasoning
        self._closing = closing
        self._thought = 0
        self._tag: Iterator[int] | None = None
        """What is left of the closing tag; None until it is due."""

    def sample(self, logits: Logits) -> int:
        """Draw a token; over budget, force the closing tag's next one, until it is written."""
        if self._in_reasoning():
            self._thought += 1
        forced = self._next_of_tag() if self._thought > self._budget else None
        if forced is None:
            return self._inner.sample(logits)
        self._inner.accept(forced)
        return forced

    def accept(self, token: int) -> None:
        """Count a token that was not drawn here."""
        self._inner.accept(token)

    def reset(self) -> None:
        """Start again, with the whole budget."""
        self._inner.reset()
        self._thought = 0
        self._tag = None

    def _next_of_tag(self) -> int | None:
        if self._tag is None:
            self._tag = iter(self._closing())
        return next(self._tag, None)
