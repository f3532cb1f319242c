"""Long texts in the line that is typed: each is one character there, which says how long it is.

A line editor lays out all it holds at every key, so a pasted book must not be in it. What is sent,
remembered or given to another editor is the text itself, exactly.
"""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

from nextok.cli.chat.paste_mark import paste_mark

LONG, TALL = 4_000, 40
"""Characters, and lines: a text with more of either is folded."""
_FIRST = 0x100000
"""Of the characters for them, which are for private use and in no font."""


class Folding:
    """Folds and unfolds, for one session: what was cut out of a line may be put into another."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._characters: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """The text, or the one character for it."""
        if len(text) <= LONG and text.count("\n") < TALL:
            return text
        if text not in self._characters:
            character = chr(_FIRST + len(self._texts))
            self._characters[text], self._texts[character] = character, text
        return self._characters[text]

    def unfold(self, line: str) -> str:
        """The line with the long texts in it."""
        return "".join(map(self._unfolded, line)) if self.is_in(line) else line

    def ends(self, line: str) -> bool:
        """Whether a long text ends it."""
        return line[-1:] in self._texts

    def is_in(self, line: str) -> bool:
        """Whether a long text is in it."""
        return not self._texts.keys().isdisjoint(line)

    def label(self, character: str) -> str | None:
        """What is shown for a character; None if it stands for itself."""
        text = self._texts.get(character)
        return None if text is None else paste_mark(text)

    def _unfolded(self, character: str) -> str:
        return self._texts.get(character, character)


class FoldedTexts(Processor):
    """Shows the labels where the characters are."""

    def __init__(self, folding: Folding) -> None:
        self._folding = folding

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        if not self._folding.is_in("".join(fragment[1] for fragment in fragments)):
            return Transformation(fragments)
        shown: StyleAndTextTuples = []
        places = [0]
        for style, character, *_ in explode_text_fragments(fragments):
            label = self._folding.label(character)
            shown.append((style, character) if label is None else (f"{style} class:folded", label))
            places.append(places[-1] + len(shown[-1][1]))
        return Transformation(
            shown,
            source_to_display=lambda place: _at(places, place),
            display_to_source=_inverse(places),
        )


def _at(places: list[int], place: int) -> int:
    """Behind the end the cursor still moves."""
    last = len(places) - 1
    return places[place] if place <= last else places[last] + place - last


def _inverse(places: list[int]) -> Callable[[int], int]:
    def source(place: int) -> int:
        last = len(places) - 1
        if place >= places[last]:
            return last + place - places[last]
        return max(number for number, start in enumerate(places) if start <= place)

    return source
