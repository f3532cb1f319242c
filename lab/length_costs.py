"""What a cap on the length of answers saves, and how many answers it cuts.

By the lengths that were generated: an answer longer than the cap would have ended there, and all
others as they did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

_SHORTEST = 8
"""Tokens of the smallest cap that is tried."""


@dataclass(frozen=True, kw_only=True)
class Cap:
    """One maximum number of tokens."""

    tokens: int
    saved_share: float
    """Of all tokens, those that would not have been generated."""
    cut: int
    """Answers that are longer."""
    cut_share: float


def caps(tokens: Sequence[int]) -> list[Cap]:
    """Powers of two and what is half-way between them, below the longest answer."""
    return [capped(tokens, cap) for cap in _round(max(tokens))]


def capped(tokens: Sequence[int], cap: int) -> Cap:
    """What this cap does to answers of these lengths."""
    lengths = np.asarray(tokens, dtype=np.int64)
    over = lengths[lengths > cap]
    return Cap(
        tokens=cap,
        saved_share=int((over - cap).sum()) / max(int(lengths.sum()), 1),
        cut=len(over),
        cut_share=len(over) / len(lengths),
    )


def cheapest(found: Sequence[Cap], most_cut: float) -> Cap | None:
    """The smallest cap that cuts no larger share of the answers."""
    return next((cap for cap in found if cap.cut_share <= most_cut), None)


def _round(longest: int) -> Iterator[int]:
    power = _SHORTEST
    while power < longest:
        yield power
        if power * 3 // 2 < longest:
            yield power * 3 // 2
        power *= 2
