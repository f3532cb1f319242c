"""Guesses by looking up: what was said before in the same words is said again.

Promises a constant cost for each token of the text, however long it is. Knows nothing of models:
Saxena, "Prompt Lookup Decoding" (2023).
"""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST, _SHORTEST = 4, 2
"""Tokens. A match that has gone on for longer than that is followed, not looked up again."""
_FOLLOWED = 4
"""Wrong guesses in a row after which a place is no longer followed."""


class NgramDrafter:
    """A Drafter: an index from every n-gram to where it was seen last."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, ...], int] = {}
        """Where the text goes on after an n-gram."""
        self._known = 0
        """Tokens of the history that are in the index."""
        self._place = 0
        """What the text at the end of the history is copied from: the token there; 0: nothing."""
        self._matched = 0
        """Tokens before that place that are also at the end of the history."""
        self._missed = 0

    def reset(self, prompt: Sequence[int]) -> None:
        """Index the prompt and nothing else."""
        self._places.clear()
        self._known = self._place = 0
        self._read(prompt)

    def propose(self, history: Sequence[int], limit: int) -> Sequence[int]:
        """What came after the longest match; a text that repeats itself goes on doing so."""
        self._read(history)
        self._look_up(history)
        if not self._place:
            return []
        guess = list(history[self._place : self._place + limit])
        period = len(guess)
        while len(guess) < limit:
            guess.append(guess[-period])
        return guess

    def _read(self, history: Sequence[int]) -> None:
        """Each n-gram is entered with the token after it, so that none finds itself."""
        for index in range(self._known, len(history)):
            token = history[index]
            if self._place:
                self._follow(token == history[self._place])
            for size in range(_SHORTEST, min(_LONGEST, index) + 1):
                self._places[tuple(history[index - size : index])] = index
        self._known = len(history)

    def _follow(self, came_true: bool) -> None:
        """A word may have been replaced by another: the place moves on either way."""
        self._place += 1
        self._matched = self._matched + 1 if came_true else 0
        self._missed = 0 if came_true else self._missed + 1
        if self._missed == _FOLLOWED:
            self._place = 0

    def _look_up(self, history: Sequence[int]) -> None:
        """Go to where a longer match leads than the one at hand."""
        matched = self._matched if self._place else 0
        for size in range(min(_LONGEST, len(history)), max(matched, _SHORTEST - 1), -1):
            place = self._places.get(tuple(history[-size:]))
            if place is not None:
                self._place, self._matched, self._missed = place, size, 0
                return
