"""What a run has loaded: a model and, where one is to guess ahead for it, a second one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from nextok.backends.weights import Weights

Opening: TypeAlias = "Callable[[], Weights]"
"""Loads a model that was found already. Raises ModelError, EngineError, Aborted."""


class Opened(NamedTuple):
    """Weights in memory."""

    weights: Weights
    draft: Weights | None = None

    def with_draft(self, opening: Opening) -> Opened:
        """Both; neither, when the second one cannot be loaded."""
        try:
            return Opened(weights=self.weights, draft=opening())
        except BaseException:
            self.weights.close()
            raise

    def close(self) -> None:
        """Free them."""
        self.weights.close()
        if self.draft is not None:
            self.draft.close()
