"""Finds stop strings in a text that arrives piece by piece, and shows none of their characters.

The earliest start wins; of two that start together, the one complete first. So the answer never
depends on how the text was cut into pieces, nor on the order of the strings.
"""

from __future__ import annotations

from collections.abc import Sequence


class _Pattern:
    """A Knuth-Morris-Pratt automaton: constant work a character, whatever came before."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.matched = 0
        """How many of the text's first characters the input ends with."""
        self._fallback = [0] * (len(text) + 1)
        for end in range(2, len(text) + 1):
            self._fallback[end] = self._longer(self._fallback[end - 1], text[end - 1])

    def _longer(self, matched: int, character: str) -> int:
        """The longest match after one more character."""
        while matched == len(self.text) or self.text[matched] != character:
            if matched == 0:
                return 0
            matched = self._fallback[matched]
        return matched + 1

    def advance(self, character: str) -> bool:
        """Take one character; whether the pattern is complete with it."""
        self.matched = self._longer(self.matched, character)
        return self.matched == len(self.text)


class StopMatcher:
    """Text in; out comes what cannot be part of a stop string any more, until one is found."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.found: str | None = None
        self._patterns = [_Pattern(text) for text in dict.fromkeys(stops)]
        self._held = ""
        self._candidate: tuple[int, str] | None = None
        """Start in `_held` and text of a complete match that an earlier start may yet beat."""

    def feed(self, text: str) -> str:
        """The text that is certain now. Once `found` is set, nothing more comes."""
        if not self._patterns or not text:
            return text
        for position, character in enumerate(text, start=len(self._held) + 1):
            self._advance(character, position)
            if self._decided(position):
                return self._end(self._held + text)
        return self._release(self._held + text)

    def close(self) -> str:
        """The generation ended otherwise: the held text, up to a match still in doubt."""
        if self._candidate is not None:
            return self._end(self._held)
        held, self._held = self._held, ""
        return held

    def _advance(self, character: str, position: int) -> None:
        for pattern in self._patterns:
            if pattern.advance(character):
                start = position - len(pattern.text)
                if self._candidate is None or start < self._candidate[0]:
                    self._candidate = (start, pattern.text)

    def _decided(self, position: int) -> bool:
        """A match is final once no other pattern is under way that began before it."""
        if self._candidate is None:
            return False
        return self._horizon(position) >= self._candidate[0]

    def _horizon(self, position: int) -> int:
        """Where the earliest unfinished match began."""
        return position - max(
            pattern.matched if pattern.matched < len(pattern.text) else 0
            for pattern in self._patterns
        )

    def _release(self, text: str) -> str:
        safe = self._horizon(len(text))
        if self._candidate is not None:
            safe = min(safe, self._candidate[0])
            self._candidate = (self._candidate[0] - safe, self._candidate[1])
        self._held = text[safe:]
        return text[:safe]

    def _end(self, text: str) -> str:
        start, self.found = self._candidate or (len(text), None)
        self._held = ""
        return text[:start]
