"""Lengths as a likelihood sees them: how many ended at each length, and how many were cut there.

An answer that was cut at a length would have been as long or longer. Where longer answers are
missing from the data altogether, `missing_over` says from where on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nextok.generation.errors import UsageError
from nextok.lab.length_data import Answer

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_FEWEST_AT_CAP = 5
_TIMES_EXPECTED = 10
"""Answers at the longest length, against those at lengths shortly before it, that show a cap."""
_SHORTLY = 0.9
_FEWEST_BEFORE = 2
"""Different lengths shortly before the longest, so that there is something to compare with."""


class OverCap(str, Enum):
    """What has become of answers that would have been longer than a cap."""

    CUT = "cut"
    """They stand in the data with the cap as their length."""
    MISSING = "missing"
    """They are not in the data."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A multiset of lengths, in tokens."""

    lengths: Integers
    """The different ones, ascending."""
    ended: Integers
    """How many answers ended by themselves at each."""
    cut: Integers
    """How many were cut there."""
    missing_over: int | None = None
    """Longer answers are not in the data; None: all are."""

    @property
    def count(self) -> int:
        """Answers."""
        return int(self.ended.sum() + self.cut.sum())

    @property
    def places(self) -> Floats:
        """The lengths as places on an axis."""
        return self.lengths.astype(np.float64)

    @cached_property
    def edges(self) -> Floats:
        """Where the intervals of the lengths begin and end: half a token to either side."""
        return np.unique(np.concatenate((self.lengths - 0.5, self.lengths + 0.5)))

    @cached_property
    def edge_places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The indexes of each length's two edges."""
        lower = np.searchsorted(self.edges, self.lengths - 0.5)
        return lower, np.searchsorted(self.edges, self.lengths + 0.5)


def sample_of(
    answers: Sequence[Answer], cap: int | None = None, over: OverCap = OverCap.CUT
) -> Sample:
    """Count them. cap: tokens that no answer was allowed to exceed.

    UsageError where one did.
    """
    longest = max(one.tokens for one in answers)
    if cap is not None and longest > cap:
        raise UsageError(f"--cap {cap}: there are answers of up to {longest:,} tokens")
    missing = over is OverCap.MISSING
    tokens = np.array([one.tokens for one in answers], dtype=np.int64)
    was_cut = np.array([one.cut for one in answers], dtype=bool)
    if cap is not None and not missing:
        was_cut |= tokens >= cap
    return counted(tokens, was_cut, cap if missing else None)


def counted(tokens: Integers, was_cut: NDArray[np.bool_], missing_over: int | None) -> Sample:
    """The sample of single answers."""
    lengths, which = np.unique(tokens, return_inverse=True)
    cut = np.bincount(which, weights=was_cut, minlength=len(lengths)).astype(np.int64)
    every = np.bincount(which, minlength=len(lengths)).astype(np.int64)
    return Sample(lengths=lengths, ended=every - cut, cut=cut, missing_over=missing_over)


def found_cap(answers: Sequence[Answer]) -> int | None:
    """The cap that the data show: many answers at the longest length, few shortly before it.

    None where endings are known, or nothing shows one.
    """
    if any(one.cut for one in answers):
        return None
    lengths, counts = np.unique([one.tokens for one in answers], return_counts=True)
    longest = int(lengths[-1])
    before = (lengths >= _SHORTLY * longest) & (lengths < longest)
    if before.sum() < _FEWEST_BEFORE or counts[-1] < _FEWEST_AT_CAP:
        return None
    expected = counts[before].sum() / ((1 - _SHORTLY) * longest)
    return longest if counts[-1] >= _TIMES_EXPECTED * expected else None
