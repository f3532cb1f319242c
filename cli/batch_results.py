"""In which order a batch's results are written.

Promises whole lines, each written as soon as it may be: in order where that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nextok.cli.answer import json_text


class Results:
    """Writes lines of JSON, in the order they come or in that of the places they have."""

    def __init__(self, write_line: Callable[[str], None], *, ordered: bool) -> None:
        self._write_line = write_line
        self._ordered = ordered
        self._next = 0
        self._held: dict[int, str] = {}

    def add(self, place: int, result: Mapping[str, object]) -> None:
        """place: from 0, each once."""
        if not self._ordered:
            self._write_line(json_text(result))
            return
        self._held[place] = json_text(result)
        self._release()

    def flush(self) -> None:
        """No more will come: write what was held back, whatever is missing between."""
        for place in sorted(self._held):
            self._write_line(self._held.pop(place))

    def _release(self) -> None:
        while self._next in self._held:
            self._write_line(self._held.pop(self._next))
            self._next += 1
