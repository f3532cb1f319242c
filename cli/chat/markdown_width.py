"""How many columns text takes, and between which of its characters a line may be broken.

Where terminals disagree (sequences of joined emoji, emoji made of a symbol and a selector), the
count is the larger one: a line may then end early and never runs over the edge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_EMOJI_SELECTOR = "\ufe0f"
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_NEVER_FIRST = frozenset(
    "!%),.:;?]}¢°’”…‰′″℃、。〃々〉》」』】〕〗〙〛〜゛゜ゝゞァィゥェォッャュョヮヵヶ"
    "ぁぃぅぇぉっゃゅょゎー・！％），．：；？］｝｠｡｣､･￠"
)
_NEVER_LAST = frozenset("$([{£¥‘“〈《「『【〔〖〘〚＄（［｛｟｢￡￥")
_RUNS = re.compile(" +|[^ ]+")


def columns(text: str) -> int:
    """Columns of a text without control characters."""
    if text.isascii():
        return len(text)
    return sum(map(_char_columns, text))


def _char_columns(char: str) -> int:
    from wcwidth import wcwidth

    if char == _EMOJI_SELECTOR:  # makes the symbol before it a wide one, on some terminals
        return 1
    return max(0, wcwidth(char))


def may_break(before: str, after: str) -> bool:
    """Whether a line may end between two characters, neither of them a space.

    It may next to a wide one (Chinese, Japanese, emoji), but for punctuation that must not begin
    or end a line and for characters that are one with their neighbour.
    """
    if before.isascii() and after.isascii():
        return False
    if before in _NEVER_LAST or after in _NEVER_FIRST or before == _JOINER or _extends(after):
        return False
    return _is_wide(before) or _is_wide(after)


def _extends(char: str) -> bool:
    """Whether a character is drawn into the one before it."""
    return char == _EMOJI_SELECTOR or ord(char) in _SKIN_TONES or _char_columns(char) == 0


def _is_wide(char: str) -> bool:
    return _char_columns(char) == 2 and ord(char) not in _FLAG_LETTERS


def units(text: str, before: str) -> Iterator[tuple[str, bool]]:
    """The text in runs of spaces and runs that must stay together.

    before: the character the text follows, a space at the start of a line. Each run comes with
    whether a line may end before it.
    """
    for run in _RUNS.findall(text):
        if run[0] == " " or run.isascii():
            yield run, run[0] == " " or before == " " or may_break(before, run[0])
        else:
            yield from _parts(run, before)
        before = run[-1]


def _parts(run: str, before: str) -> Iterator[tuple[str, bool]]:
    start, free = 0, before == " " or may_break(before, run[0])
    for index in range(1, len(run)):
        if may_break(run[index - 1], run[index]):
            yield run[start:index], free
            start, free = index, True
    yield run[start:], free


def fitting(text: str, room: int) -> str:
    """The longest beginning that fits into so many columns, what is drawn into it included."""
    if text.isascii():
        return text[: max(0, room)]
    used = 0
    for index, char in enumerate(text):
        used += _char_columns(char)
        if used > room:
            return text[:index]
    return text
