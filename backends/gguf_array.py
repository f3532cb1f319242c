"""An array in a GGUF header: known by its place in the file, read when someone asks.

A vocabulary has up to some hundred thousand entries; most readers of a header want none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from struct import Struct, unpack_from
from struct import error as StructError

from nextok.generation.errors import ModelError

#: How each number type is stored, by its number in the format; 8 is a string, 9 an array.
NUMBERS = {
    kind: Struct("<" + code)
    for kind, code in zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True)
}


@dataclass(frozen=True)
class Array:
    """`length` elements of one type, somewhere in a file."""

    path: Path
    element_type: int
    length: int
    offset: int
    byte_length: int

    @property
    def is_text(self) -> bool:
        """Whether the elements are strings."""
        return self.element_type not in NUMBERS

    def raw(self) -> bytes:
        """The bytes as they stand in the file. Raises ModelError when they no longer do."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read(self.byte_length)
        except OSError as error:
            raise ModelError(f"{self.path}: cannot be read: {error.strerror}") from error
        if len(data) != self.byte_length:
            raise self._changed()
        return data

    def strings(self) -> list[bytes]:
        """The elements of an array of strings, undecoded: some tokens are no UTF-8."""
        data, end = self.raw(), 0
        found: list[bytes] = []
        # Once per vocabulary entry: local names.
        unpack, append = Struct("<Q").unpack_from, found.append
        try:
            for _ in range(self.length if self.is_text else 0):
                start = end + 8
                end = start + unpack(data, end)[0]
                append(data[start:end])
        except (StructError, OverflowError):
            raise self._changed() from None
        return found

    def numbers(self) -> list[int | float]:
        """The elements of an array of numbers."""
        if self.is_text:
            return []
        code = NUMBERS[self.element_type].format[1:]
        return list(unpack_from(f"<{self.length}{code}", self.raw()))

    def _changed(self) -> ModelError:
        return ModelError(f"{self.path}: changed while it was read: try again")
