"""Prompts by their beginnings: a hash for the first block of tokens, for the first two, and so on.

Promises that prompts which begin alike up to there, and are read in the same way, have a hash in
common, and others do not but by a chance of one in 2**64.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

_HASH_BYTES = 8


def chained_hashes(tokens: Sequence[int], block: int, origin: str) -> list[int]:
    """One for each whole block: of its tokens, and of all before them. Of 64 bits.

    block: in tokens. origin: what else must be the same: the model, the settings.
    """
    hashes, digest = [], hashlib.sha256(origin.encode()).digest()
    for start in range(0, len(tokens) - block + 1, block):
        packed = array("i", tokens[start : start + block]).tobytes()
        digest = hashlib.sha256(digest + packed).digest()
        hashes.append(int.from_bytes(digest[:_HASH_BYTES], "big"))
    return hashes


def shared_blocks(held: Sequence[int], wanted: Sequence[int], block: int) -> int:
    """With how many whole blocks both begin."""
    most = min(len(held), len(wanted)) // block
    for index in range(most):
        part = slice(index * block, (index + 1) * block)
        if held[part] != wanted[part]:
            return index
    return most
