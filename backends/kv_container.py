"""The form of a KV state on disk: who made it, for which tokens, and the engine's bytes.

    magic, version, length of the header, SHA-256 of all that follows
    header: JSON with key, identity, number of tokens, bytes of the state
    tokens: int32, little-endian
    state:  as the engine exported it

Promises that what `read` returns is what was written. Knows neither folders nor models.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

_MAGIC = b"nextokKV"
_VERSION = 1
_PREAMBLE = struct.Struct("<8sII32s")
_MOST_HEADER_BYTES = 1 << 16


class Damaged(ValueError):
    """The bytes are not what this module writes."""


@dataclass(frozen=True, kw_only=True)
class KvState:
    """An exported state and the tokens it holds."""

    tokens: Sequence[int]
    state: bytes


@dataclass(frozen=True, kw_only=True)
class KvHeader:
    """What a container says about itself."""

    key: str
    identity: str
    token_count: int
    state_bytes: int


@dataclass(frozen=True, kw_only=True)
class Head:
    """All that stands before the tokens. Not verified: the checksum is over the rest, too."""

    header: KvHeader
    raw: bytes
    checksum: bytes


def pack(
    key: str, identity: str, tokens: Sequence[int], state: bytes
) -> tuple[bytes, bytes, bytes]:
    """The bytes of a container, in three pieces of which the last is `state` itself.

    Raises OverflowError for a token that is no int32, ValueError for too long a key or identity.
    """
    fields = {
        "key": key,
        "identity": identity,
        "token_count": len(tokens),
        "state_bytes": len(state),
    }
    header = json.dumps(fields).encode("ascii")
    if len(header) > _MOST_HEADER_BYTES:
        raise ValueError("the key of a KV state is too long")
    packed = _little(array("i", tokens)).tobytes()
    checksum = _checksum(header, packed, state)
    return _PREAMBLE.pack(_MAGIC, _VERSION, len(header), checksum) + header, packed, state


def read_head(stream: BinaryIO, size: int) -> Head:
    """From the first byte on. size: bytes of the whole. Raises Damaged, OSError.

    A header that is returned adds up to that size: what it announces may be allocated.
    """
    start = stream.read(_PREAMBLE.size)
    if len(start) < _PREAMBLE.size:
        raise Damaged("cut short")
    magic, version, length, checksum = _PREAMBLE.unpack(start)
    if magic != _MAGIC or version != _VERSION or length > _MOST_HEADER_BYTES:
        raise Damaged("another format")
    raw = stream.read(length)
    header = _parse(raw)
    if len(start) + length + 4 * header.token_count + header.state_bytes != size:
        raise Damaged("another size than the header says")
    return Head(header=header, raw=raw, checksum=checksum)


def read_tokens(stream: BinaryIO, head: Head) -> array[int]:
    """What comes after the head. Not verified. Raises Damaged, OSError."""
    tokens = array("i")
    tokens.frombytes(_read_whole(stream, 4 * head.header.token_count))
    return _little(tokens)


def read_state(stream: BinaryIO, head: Head, tokens: array[int]) -> KvState:
    """What comes after the tokens; all of it is verified. Raises Damaged, OSError."""
    state = _read_whole(stream, head.header.state_bytes)
    if _checksum(head.raw, _little(tokens).tobytes(), state) != head.checksum:
        raise Damaged("another checksum")
    return KvState(tokens=tokens.tolist(), state=state)


def _read_whole(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise Damaged("cut short")
    return data


def _parse(raw: bytes) -> KvHeader:
    try:
        fields = json.loads(raw.decode("ascii"))
        header = KvHeader(**fields)
    except (ValueError, TypeError, RecursionError) as error:
        raise Damaged("an unreadable header") from error
    texts = (header.key, header.identity)
    counts = (header.token_count, header.state_bytes)
    if not all(type(text) is str for text in texts):
        raise Damaged("a header with wrong values")
    if not all(type(count) is int and count >= 0 for count in counts):
        raise Damaged("a header with wrong values")
    return header


def _little(tokens: array[int]) -> array[int]:
    """From or to the order of bytes in the file."""
    if sys.byteorder == "little":
        return tokens
    swapped = array("i", tokens)
    swapped.byteswap()
    return swapped


def _checksum(header: bytes, tokens: bytes, state: bytes) -> bytes:
    """SHA-256: most processors have instructions for it, which makes it the fastest at hand."""
    import hashlib  # 5 ms, and not every run has a state to keep

    hasher = hashlib.sha256(header)
    hasher.update(tokens)
    hasher.update(state)
    return hasher.digest()
