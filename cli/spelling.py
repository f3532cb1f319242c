"""How far apart two words are, for "did you mean". Knows no commands and no flags."""

from __future__ import annotations

from collections.abc import Iterable


def distance(first: str, second: str) -> int:
    """Letters to insert, delete, replace or swap with their neighbour (optimal alignment)."""
    above: list[int] = []
    row = list(range(len(second) + 1))
    for i, one in enumerate(first, start=1):
        twice_above, above, row = above, row, [i]
        for j, other in enumerate(second, start=1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (one != other))
            if i > 1 and j > 1 and one == second[j - 2] and first[i - 2] == other:
                cost = min(cost, twice_above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most likely meant: a few letters off, or begun and not finished."""
    scored = sorted((distance(word, candidate), candidate) for candidate in candidates)
    if scored and scored[0][0] <= max(1, len(word.strip("-")) // 3):
        return scored[0][1]
    begun = [candidate for _, candidate in scored if candidate.startswith(word)]
    return begun[0] if begun and word.strip("-") else None


def hint(word: str, candidates: Iterable[str]) -> str:
    """A clause for the end of a message, or nothing."""
    meant = nearest(word, candidates)
    return f": did you mean {meant}?" if meant else ""
