"""Which model a file holds, told from a small part of its bytes.

Promises that a file with another header, another size or other weights is another one, and that a
copy under another name is the same. Reads 1.3 MiB of a file of any size, so weights that differ
in a few numbers alone may go unnoticed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.shown_text import shown
from nextok.backends.split_files import part_paths
from nextok.generation.errors import ModelError

if TYPE_CHECKING:
    from hashlib import _Hash

_HEAD_BYTES = 1 << 20
_SLICES = 64
_SLICE_BYTES = 4096


def model_fingerprint(path: Path) -> str:
    """In hexadecimal; of all parts of a split model. ModelError when one cannot be read."""
    import hashlib

    hasher = hashlib.sha256()
    for part in part_paths(path):
        try:
            _take_in(part, hasher)
        except OSError as error:
            raise ModelError(
                f"{shown(part)} can no longer be read ({error.strerror}): put it back"
            ) from error
    return hasher.hexdigest()


def _take_in(path: Path, hasher: _Hash) -> None:
    """The size, the head, and slices of the rest at equal distances, the end among them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        hasher.update(b"%d " % size)
        hasher.update(os.pread(descriptor, _HEAD_BYTES, 0))
        last = size - _SLICE_BYTES
        for index in range(1, _SLICES + 1):
            start = _HEAD_BYTES + (last - _HEAD_BYTES) * index // _SLICES
            if start >= 0:
                hasher.update(os.pread(descriptor, _SLICE_BYTES, start))
    finally:
        os.close(descriptor)
