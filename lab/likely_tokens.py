"""A distribution over the vocabulary, kept in little room: its likeliest tokens, and the rest.

Promises probabilities before any sampling step. A divergence from what is kept is a lower bound of
the true one, and falls short of it by what happens within the rest, whose mass is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

_TINIEST = 1e-300
"""A probability that another model has rounded to 0."""


@dataclass(frozen=True, kw_only=True)
class LikelyTokens:
    """The likeliest first, the lowest id among equals."""

    ids: NDArray[np.int32]
    log_probabilities: NDArray[np.float32]
    rest: float
    """The mass of all other tokens together."""

    @property
    def margin(self) -> float:
        """By how much of the mass the first leads over the second."""
        import numpy as np

        first, second = np.exp(self.log_probabilities[:2].astype(np.float64))
        return float(first - second)

    def divergence(self, row: Row) -> float:
        """Kullback and Leibler's, in nats, from the distribution of these logits to this one.

        How surprised somebody is, on average, who expects the row's and gets this one.
        """
        import numpy as np

        own = self.log_probabilities.astype(np.float64)
        # As coarse as what was kept, so that a distribution is at no distance from itself.
        other = _log_probabilities(row)[self.ids].astype(np.float32).astype(np.float64)
        divergence = float(np.sum(np.exp(own) * (own - other)))
        if self.rest > 0:
            rest = max(_TINIEST, _rest(other))
            divergence += self.rest * float(np.log(self.rest / rest))
        return max(0.0, divergence)  # less is rounding


def likely_tokens(row: Row, most: int) -> LikelyTokens:
    """Keep so many of a row of logits."""
    import numpy as np

    every = _log_probabilities(row)
    kept = np.arange(len(every))
    if most < len(every):
        kept = np.sort(np.argpartition(-every, most - 1)[:most])
    ids = kept[np.argsort(-every[kept], kind="stable")]
    kept_log_probabilities = every[ids].astype(np.float32)
    return LikelyTokens(
        ids=ids.astype(np.int32),
        log_probabilities=kept_log_probabilities,
        rest=_rest(kept_log_probabilities) if most < len(every) else 0.0,
    )


def _rest(log_probabilities: NDArray[np.float32] | NDArray[np.float64]) -> float:
    """What these leave of 1."""
    import numpy as np

    return max(0.0, 1 - float(np.sum(np.exp(log_probabilities.astype(np.float64)))))


def _log_probabilities(row: Row) -> NDArray[np.float64]:
    import numpy as np

    scores = row.astype(np.float64)
    scores -= scores.max()
    scores -= np.log(np.sum(np.exp(scores)))
    return scores
