"""Where the cursor stands in its row after all that was written, as far as that can be known.

Terminals disagree about the width of some emoji: as long as such a difference could matter, the
column counts as unknown, and the next line ends that.
"""

from __future__ import annotations

import re

_CODES = re.compile("\x1b\\[[0-9;]*([A-Za-z])")
_UP = "A"
_TAB = 8
_EMOJI_SELECTOR, _JOINER = "\ufe0f", "\u200d"
_SKIN_TONES, _FLAG_LETTERS = range(0x1F3FB, 0x1F400), range(0x1F1E6, 0x1F200)


class CursorColumn:
    """Follows text of a terminal, with our own colours and movements in it."""

    def __init__(self, width: int) -> None:
        """width: the window's, in columns."""
        self.column = 0
        """Columns filled; as many as there are when the next character goes to the next row."""
        self.width = width
        self._doubt = 0
        """Columns that another terminal may take more or less, since the line's start."""
        self._has_wrapped = False
        """Whether the line has more than one row."""
        self._is_lost = False

    @property
    def is_inside(self) -> bool:
        """Whether the cursor surely stands right behind the text, and not at the window's edge."""
        if self._is_lost or (self._doubt and self._has_wrapped):
            return False
        return self.column + self._doubt < self.width

    def advance(self, text: str) -> bool:
        """The text is written. Whether the cursor is in the same row still, and inside."""
        stays = True
        if "\x1b" in text:
            stays = not any(code == _UP for code in _CODES.findall(text))
            text = _CODES.sub("", text)
        if "\n" in text:
            text = text.rpartition("\n")[2]
            self._start_line()
            stays = False
        if "\r" in text:
            text = text.rpartition("\r")[2]
            self.column = 0
        had_wrapped, self._has_wrapped = self._has_wrapped, False
        self._count(text)
        stays = stays and not self._has_wrapped
        self._has_wrapped = self._has_wrapped or had_wrapped
        return stays and self.is_inside

    def resize(self, width: int) -> None:
        """How wide the window is now. If that is new, text at either edge may be anywhere."""
        if width == self.width:
            return
        if self._has_wrapped or self.column + self._doubt >= min(width, self.width):
            self._is_lost = True
        self.width = width

    def _start_line(self) -> None:
        self.column = self._doubt = 0
        self._has_wrapped = self._is_lost = False

    def _count(self, text: str) -> None:
        if not text.isascii() or "\t" in text:
            for char in text:
                self._char(char)
        elif text:
            self.column += len(text)
            if self.column > self.width:
                self._has_wrapped = True
                self.column = (self.column - 1) % self.width + 1

    def _char(self, char: str) -> None:
        if char == "\t":
            self._is_lost = self._is_lost or self.column >= self.width
            self.column = min((self.column // _TAB + 1) * _TAB, self.width - 1)
            return
        columns = self._columns(char)
        self.column += columns
        if self.column > self.width:
            self._has_wrapped = True
            self.column = columns

    def _columns(self, char: str) -> int:
        if char.isascii():
            return 1
        from wcwidth import wcwidth

        columns = wcwidth(char)
        if char in (_EMOJI_SELECTOR, _JOINER) or ord(char) in _SKIN_TONES or columns < 0:
            self._doubt += 2
        elif ord(char) in _FLAG_LETTERS:
            self._doubt += columns
        return max(0, columns)
