"""Which runs of `*`, `_` and `~` open and close a style: CommonMark's rules, read forwards only.

Some things differ because what follows is not known yet. A marker that can open does so, and what
is never closed ends with its block. Between two letters or digits (`2**8`) nothing opens. Stars
close what is open after anything but a space, whatever follows (`**Note:**text`). Next to Chinese
or Japanese characters, which have no spaces between them, punctuation keeps nothing from opening.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from nextok.cli.chat.markdown_style import PLAIN, Style, Theme, layered

_DEEPEST = 20
"""Styles in each other; what would open more is text."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Equal markers in a row, and the characters on both sides (a space at a block's edge)."""

    char: str
    count: int
    before: str
    after: str
    in_address: bool
    """Whether it stands inside a bare address, where nothing opens."""


class _Opener(NamedTuple):
    char: str
    size: int
    run: int
    """Which run it came from, and how long that was."""
    run_size: int
    both: bool
    """Whether it could have closed something where it stood."""


class Emphasis:
    """The styles open at one point of a block."""

    def __init__(self, theme: Theme) -> None:
        self.style = PLAIN
        """All that are open, together."""
        self._theme = theme
        self._openers: list[_Opener] = []
        self._runs = 0

    def take(self, run: Run) -> int:
        """Close and open what the run does; how many of its markers are mere text."""
        if run.count > 3 or (run.char == "~" and run.count != 2):
            return run.count
        flanks = _flanks(run)
        left = self._close(run, flanks) if flanks.closes else run.count
        if left and flanks.opens and len(self._openers) < _DEEPEST:
            self._open(run, left, flanks)
            left = 0
        self.style = PLAIN
        for style in dict.fromkeys(map(self._style_of, self._openers)):
            self.style = layered(self.style, style)
        return left

    def _open(self, run: Run, count: int, flanks: _Flanks) -> None:
        self._runs += 1
        for part in (1, 2) if count == 3 else (count,):
            self._openers.append(_Opener(run.char, part, self._runs, run.count, flanks.both))

    def _close(self, run: Run, flanks: _Flanks) -> int:
        left = run.count
        while left:
            index = self._opener(run, left, flanks)
            if index is None:
                break
            opener = self._openers[index]
            left -= opener.size
            above = self._openers[index + 1 :]
            self._openers[index:] = [other for other in above if other.run == opener.run]
        return left

    def _opener(self, run: Run, left: int, flanks: _Flanks) -> int | None:
        for index in reversed(range(len(self._openers))):
            opener = self._openers[index]
            if opener.char != run.char or opener.size > left:
                continue
            # The specification's rule of three, for runs that can do both.
            both = flanks.both or opener.both
            if both and (run.count + opener.run_size) % 3 == 0 and run.count % 3:
                continue
            return index
        return None

    def _style_of(self, opener: _Opener) -> Style:
        if opener.char == "~":
            return self._theme.struck
        return self._theme.strong if opener.size == 2 else self._theme.emphasis


class _Flanks(NamedTuple):
    """What a run can do where it stands."""

    opens: bool
    closes: bool
    both: bool
    """Whether the specification would let it do either."""


def _flanks(run: Run) -> _Flanks:
    before, after = run.before, run.after
    dense = _is_cjk(before) or _is_cjk(after)
    left = not after.isspace() and (
        not _is_punctuation(after) or before.isspace() or _is_punctuation(before) or dense
    )
    right = not before.isspace() and (
        not _is_punctuation(before) or after.isspace() or _is_punctuation(after) or dense
    )
    opens = left and not run.in_address
    if run.char == "_":
        opens = opens and (not right or _is_punctuation(before))
        return _Flanks(opens, right and (not left or _is_punctuation(after)), left and right)
    inside_word = before.isalnum() and after.isalnum() and not dense
    return _Flanks(opens and not inside_word, not before.isspace(), left and right)


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def _is_cjk(char: str) -> bool:
    return not char.isascii() and unicodedata.east_asian_width(char) in "WF"
