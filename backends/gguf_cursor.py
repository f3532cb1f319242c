"""A place in a mapped GGUF file that moves forward, number by number and text by text.

Promises that no read goes past the end, and that a hostile file costs little time and memory.
Knows the encoding of values and nothing of their order.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from struct import Struct
from struct import error as StructError

from nextok.backends.shown_text import shown
from nextok.generation.errors import ModelError

U32, U64 = Struct("<I"), Struct("<Q")

# No real file comes near these.
_MAX_KEY_BYTES = 1 << 16
_MAX_TEXT_BYTES = 1 << 26
_MAX_ARRAY_STRINGS = 1 << 23


class Cursor:
    """Reads little-endian values from `at` on. Raises ModelError where there is none."""

    def __init__(self, path: Path, data: mmap.mmap, size: int) -> None:
        self.at = 0
        self._path = path
        self._data = data
        self._size = size
        self._text_bytes = 0
        self._array_strings = 0

    def scalar(self, shape: Struct) -> int | float:
        """One value; `shape` says how it is stored."""
        if self.at + shape.size > self._size:
            raise self._cut_off()
        value: int | float = shape.unpack_from(self._data, self.at)[0]
        self.at += shape.size
        return value

    def number(self, shape: Struct) -> int:
        """One whole number."""
        return int(self.scalar(shape))

    def key(self) -> str:
        """A name: a text of moderate length."""
        return self._string(_MAX_KEY_BYTES)

    def text(self) -> str:
        """A text; bytes that are no UTF-8 become U+FFFD."""
        return self._string(_MAX_TEXT_BYTES)

    def skip(self, count: int) -> None:
        """Leave `count` bytes unread."""
        if count > self._size - self.at:
            raise self._cut_off()
        self.at += count

    def skip_strings(self, count: int) -> None:
        """Leave `count` strings unread, which takes a look at each length."""
        self._array_strings += count
        if self._array_strings > _MAX_ARRAY_STRINGS:
            raise self.damaged(f"its arrays claim {self._array_strings} strings")
        # Once per vocabulary entry: local names, and the end of the file found by the error.
        at, data, unpack = self.at, self._data, U64.unpack_from
        try:
            for _ in range(count):
                at += 8 + unpack(data, at)[0]
        except (StructError, IndexError, OverflowError):
            raise self._cut_off() from None
        self.skip(at - self.at)

    def damaged(self, what: str) -> ModelError:
        """The error for content that makes no sense."""
        return ModelError(f"{shown(self._path)}: damaged: {what}: download it again")

    def _string(self, limit: int) -> str:
        length = self.number(U64)
        start = self.at
        self.skip(length)
        self._text_bytes += length
        if length > limit or self._text_bytes > _MAX_TEXT_BYTES:
            raise self.damaged(f"it holds a text of {length} bytes")
        return self._data[start : self.at].decode("utf-8", "replace")

    def _cut_off(self) -> ModelError:
        return ModelError(
            f"{shown(self._path)}: incomplete: it has {self._size} bytes and its header needs"
            " more: download it again"
        )
