"""How often guesses came true, by how many had just done so in a row.

The longer a text has been copied, the more likely it is copied on. Knows nothing of costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 62)
"""The lengths a draft may have: what passes of few different sizes cost is sooner known."""


class GuessRecord:
    """The record of one generation."""

    def __init__(self, hope: float) -> None:
        """hope: the share that comes true, as long as none was seen."""
        self._hope = hope
        self._made = [0.0] * 6
        self._came_true = [0.0] * 6
        self.streak = 0
        """Guesses in a row that came true."""

    def judge(self, guess: Sequence[int], drawn: Sequence[int]) -> None:
        """Compare them up to the first guess that was wrong."""
        if not guess:
            self.streak = 0
        for guessed, token in zip(guess, drawn, strict=False):
            kind = self._kind(self.streak)
            if self._made[kind] > 50:  # what was long ago counts less and less
                self._made[kind] /= 2
                self._came_true[kind] /= 2
            self._made[kind] += 1
            if guessed != token:
                self.streak = 0
                return
            self._came_true[kind] += 1
            self.streak += 1

    def expected(self, most: int) -> Iterator[tuple[int, float]]:
        """Lengths of a draft, with the tokens that one step may then be expected to yield."""
        chances = self._chances()
        yielded = likely = 1.0
        for length in range(1, min(most, LENGTHS[-1]) + 1):
            likely *= chances[self._kind(self.streak + length - 1)]
            yielded += likely
            if length in LENGTHS:
                yield length, yielded
            if likely < 0.05:
                return

    @property
    def likely(self) -> float:
        """The probability that the next guess comes true."""
        return self._chances()[self._kind(self.streak)]

    def _chances(self) -> list[float]:
        """Of each kind, as if three more had been seen that did a little better than the kind
        before."""
        chances: list[float] = []
        before = self._hope
        for came_true, made in zip(self._came_true, self._made, strict=True):
            chances.append((3 * before + came_true) / (3 + made))
            before = 1 - 0.7 * (1 - chances[-1])
        return chances

    def _kind(self, streak: int) -> int:
        """0, 1, 2 to 3, 4 to 7, 8 to 15, more."""
        return min(streak.bit_length(), len(self._made) - 1)
