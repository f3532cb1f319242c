"""Cells side by side: how wide each column is, and a cell's text folded to its width.

Pure: pieces in, lines of pieces out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from nextok.cli.chat.markdown_pen import Piece
from nextok.cli.chat.markdown_width import columns, fitting, units

LEAST_COLUMNS = 4
"""Columns below which a cell cannot be read."""


class Align(Enum):
    """Where a cell's text stands in its column."""

    LEFT = "left"
    RIGHT = "right"
    CENTER = "center"


@dataclass(frozen=True, kw_only=True)
class Need:
    """Columns that a table's column would like, and those its longest word takes."""

    text: int = 0
    word: int = 0

    def __or__(self, other: Need) -> Need:
        return Need(text=max(self.text, other.text), word=max(self.word, other.word))


def need(cell: Sequence[Piece]) -> Need:
    """What one cell needs."""
    words = (width_of(_without_spaces(word)) for word in _words(cell))
    return Need(text=width_of(cell), word=max(words, default=0))


def width_of(pieces: Sequence[Piece]) -> int:
    """Columns of a line."""
    return sum(columns(piece.text) for piece in pieces)


def fitted(needs: Sequence[Need], room: int) -> list[int] | None:
    """Each column's width, together no more than `room`; None if that is too little to read.

    Narrow columns get what they need, the others share what is left, if possible without breaking
    words.
    """
    widest = min(room, max(one.text for one in needs))
    for keep_words in (True, False):
        for most in range(max(widest, LEAST_COLUMNS), LEAST_COLUMNS - 1, -1):
            widths = [max(min(one.text, most), one.word if keep_words else 0) for one in needs]
            if sum(widths) <= room:
                return _with_rest(widths, needs, room)
    return None


def _with_rest(widths: list[int], needs: Sequence[Need], room: int) -> list[int]:
    """An uneven rest goes to the first columns that can use it."""
    for index, one in enumerate(needs):
        if widths[index] < one.text and sum(widths) < room:
            widths[index] += 1
    return widths


def folded(pieces: Sequence[Piece], width: int) -> list[list[Piece]]:
    """The text in lines of no more than so many columns, broken between words where possible."""
    lines: list[list[Piece]] = [[]]
    for word in _words(pieces):
        if width_of(lines[-1]) + width_of(word) > width and lines[-1]:
            lines.append([])
        for piece in word if lines[-1] else _without_spaces(word):
            _fold(piece, width, lines)
    return lines


def _fold(piece: Piece, width: int, lines: list[list[Piece]]) -> None:
    """Add a part of a word, in pieces if it is longer than a line."""
    text, style = piece
    while text:
        part = fitting(text, width - width_of(lines[-1]))
        if not part and lines[-1]:
            lines.append([])
            continue
        part = part or text[0]
        lines[-1].append(Piece(part, style))
        text = text[len(part) :]


def _words(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The text's words, each with the spaces before it."""
    word: list[Piece] = []
    before = " "
    for text, style in pieces:
        for run, free in units(text, before):
            if free and word and before != " ":
                yield word
                word = []
            word.append(Piece(run, style))
            before = run[-1]
    if before != " ":
        yield word


def _without_spaces(word: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in word if piece.text[0] != " "]


def aligned(line: Sequence[Piece], width: int, align: Align, *, last: bool) -> list[Piece]:
    """The line filled up to its column's width; last: nothing follows that needs the right side."""
    space = max(0, width - width_of(line))
    left = {Align.LEFT: 0, Align.RIGHT: space, Align.CENTER: space // 2}[align]
    right = 0 if last else space - left
    return [Piece(" " * left), *line, Piece(" " * right)]
