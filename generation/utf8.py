"""Bytes in, whole characters out."""

from __future__ import annotations

import codecs


class Utf8:
    """Decodes UTF-8 that arrives in arbitrary pieces, as tokens bring it.

    Any split of the same bytes gives the same text. Bytes that are no UTF-8 become U+FFFD.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> str:
        """The characters that `piece` completes."""
        return self._decoder.decode(piece)

    def close(self, *, cut: bool) -> str:
        """The end: half a character becomes U+FFFD if the model left it so.

        If it is we who `cut` the text there, it never existed, and nothing is said.
        """
        tail = self._decoder.decode(b"", final=True)
        return "" if cut else tail
