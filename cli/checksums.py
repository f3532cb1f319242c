"""The sha256 of model files, held against the one that the caches keep for them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from nextok.backends.kept_sums import kept
from nextok.backends.split_files import part_paths
from nextok.generation.abort import Abort
from nextok.generation.errors import ModelError

_NAMED = re.compile(r"(?:sha256-)?([0-9a-f]{64})")
_CHUNK = 1 << 20


def promised(path: Path) -> str | None:
    """The sha256 that the file ought to have, in hexadecimal digits; None if nothing says."""
    match = _NAMED.fullmatch(path.resolve().name)
    return match[1] if match else kept(path.absolute())


def computed(path: Path, abort: Abort, read: Callable[[int], None]) -> str:
    """The one it has. `read` is told how many bytes were read, chunk by chunk.

    Raises OSError and Aborted.
    """
    sha256 = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            abort.check()
            sha256.update(chunk)
            read(len(chunk))
    return sha256.hexdigest()


def check_sums(
    path: Path, abort: Abort, read: Callable[[float], None], remedy: Callable[[], str]
) -> bool:
    """Whether the checksums of all parts of a model are known: they are right.

    read: told the share that was read. remedy: how to get the right bytes. Raises ModelError with
    it for bytes that have changed, OSError and Aborted.
    """
    parts = part_paths(path)
    expected = [promised(part) for part in parts]
    total = sum(part.stat().st_size for part in parts) or 1
    done = 0

    def count(new: int) -> None:
        nonlocal done
        done += new
        read(done / total)

    for part, sha256 in zip(parts, expected, strict=True):
        if sha256 is not None and computed(part, abort, count) != sha256:
            raise ModelError(
                f"the bytes of {part.name} have changed since they were fetched: {remedy()}"
            )
    return None not in expected
