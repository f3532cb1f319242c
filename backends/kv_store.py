"""The one store of KV states: what a model has read once need not be read again.

Promises that what comes out is what was put in, under the same key and from the same model and
settings, and that all entries together stay below the cap: the one used longest ago goes first.
Never the reason why something fails: what cannot be kept is not kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from nextok.backends.draft_file import Draft
from nextok.backends.kv_container import (
    Damaged,
    Head,
    KvState,
    pack,
    read_head,
    read_state,
    read_tokens,
)
from nextok.backends.kv_files import KvFiles, remove
from nextok.backends.seen_blocks import SeenBlocks

__all__ = ["KvEntry", "KvState", "KvStore"]

_Read = TypeVar("_Read")


@dataclass(frozen=True, kw_only=True)
class KvEntry:
    """What is known of an entry without reading its state. Not verified."""

    key: str
    identity: str
    token_count: int
    state_bytes: int
    size_bytes: int
    """Of the file."""
    used_seconds: float
    """When it was put or last got, since 1970."""


class KvStore:
    """A folder of states. Any number of processes may use it at once."""

    def __init__(
        self, folder: Path, *, cap_bytes: int, listener: Callable[[str], None] | None = None
    ) -> None:
        """folder: made when there is something to keep. cap_bytes: of all entries; 0 keeps none.
        listener: told of each entry that is dropped because it is damaged."""
        self._files = KvFiles(folder)
        self._cap_bytes = cap_bytes
        self._listener = listener

    @property
    def seen(self) -> SeenBlocks:
        """Which beginnings of prompts there have been, of those with a state and of others."""
        return SeenBlocks(self._files.seen)

    def put(self, key: str, identity: str, tokens: Sequence[int], state: bytes) -> bool:
        """Keep a state instead of what the key has; others make room for it.

        False when it was not kept: larger than the cap, disk full, folder not writable.
        """
        if len(state) + 4 * len(tokens) > self._cap_bytes:
            return False
        pieces = pack(key, identity, tokens, state)
        size = sum(map(len, pieces))
        if size > self._cap_bytes:
            return False
        path = self._files.path(key)
        try:
            with Draft(path) as draft:
                self._files.make_room(size, path, cap_bytes=self._cap_bytes)
                for piece in pieces:
                    draft.write(piece)
                draft.settle()
        except OSError:
            return False
        return True

    def get(
        self, key: str, identity: str, *, prefix: Sequence[int] | None = None
    ) -> KvState | None:
        """The state that was put, if it is whole and of this identity; it now counts as used.

        prefix: tokens that the entry's must begin with; else its state is not even read.
        """
        return self._take(key, lambda stream, head: _verified(stream, head, identity, prefix))

    def peek(self, key: str) -> KvEntry | None:
        """What is under a key, whoever made it, without reading its state."""
        return self._take(key, _entry)

    def group(self, name: str) -> list[tuple[KvEntry, Sequence[int]]]:
        """Entries whose keys are `name`, a slash and more, with their tokens; not verified.

        The one used last comes first.
        """
        files = reversed(self._files.group(name))
        found = (self._read(file.path, _entry_and_tokens) for file in files)
        return [one for one in found if one is not None and one[0].key.startswith(f"{name}/")]

    def entries(self) -> list[KvEntry]:
        """All that are sound at first sight; the one used last comes first."""
        found = []
        for file in reversed(self._files.entries()):
            with suppress(OSError, Damaged), _open(file.path, self._cap_bytes) as opened:
                found.append(_entry(*opened))
        return found

    def size_bytes(self) -> int:
        """Bytes of all its files, unfinished ones included."""
        return sum(file.size for file in self._files.all())

    def remove(self, key: str) -> bool:
        """Whether there was an entry, which now is gone. Raises OutputError if it must stay."""
        return remove(self._files.path(key))

    def clear(self) -> None:
        """Remove all there is. Raises OutputError if something must stay."""
        for file in self._files.all():
            remove(file.path)

    def _take(self, key: str, read: Callable[[BinaryIO, Head], _Read | None]) -> _Read | None:
        """What `read` makes of the key's file."""

        def checked(stream: BinaryIO, head: Head) -> _Read | None:
            if head.header.key != key:
                raise Damaged("another key")
            return read(stream, head)

        return self._read(self._files.path(key), checked)

    def _read(self, path: Path, read: Callable[[BinaryIO, Head], _Read | None]) -> _Read | None:
        """What `read` makes of a file. One that is not ours or damaged is removed."""
        try:
            with _open(path, self._cap_bytes) as opened:
                return read(*opened)
        except Damaged as damage:
            with suppress(OSError):
                path.unlink()
            if self._listener is not None:
                self._listener(f"dropped a KV state on disk: {damage}")
        except (OSError, MemoryError):
            pass
        return None


@contextmanager
def _open(path: Path, most_bytes: int) -> Iterator[tuple[BinaryIO, Head]]:
    """A file behind its head. Raises OSError, Damaged."""
    with open(path, "rb", opener=_open_at_once) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            raise Damaged("nothing that was put here")
        yield stream, read_head(stream, status.st_size)


def _open_at_once(path: str, _flags: int) -> int:
    """Not through a link, and without waiting at a pipe."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _verified(
    stream: BinaryIO, head: Head, identity: str, prefix: Sequence[int] | None
) -> KvState | None:
    if head.header.identity != identity:
        return None
    tokens = read_tokens(stream, head)
    if prefix is not None and tokens[: len(prefix)].tolist() != list(prefix):
        return None
    state = read_state(stream, head, tokens)
    with suppress(OSError):
        os.utime(stream.fileno())
    return state


def _entry_and_tokens(stream: BinaryIO, head: Head) -> tuple[KvEntry, Sequence[int]]:
    return _entry(stream, head), read_tokens(stream, head).tolist()


def _entry(stream: BinaryIO, head: Head) -> KvEntry:
    status = os.fstat(stream.fileno())
    return KvEntry(
        key=head.header.key,
        identity=head.header.identity,
        token_count=head.header.token_count,
        state_bytes=head.header.state_bytes,
        size_bytes=status.st_size,
        used_seconds=status.st_mtime,
    )
