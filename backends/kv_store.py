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

from nextok.backends.draft_file import Draft, is_draft
from nextok.backends.kv_container import (
    Damaged,
    Head,
    KvState,
    pack,
    read_head,
    read_state,
    read_tokens,
)
from nextok.backends.shown_text import shown
from nextok.generation.errors import OutputError

__all__ = ["KvEntry", "KvState", "KvStore"]

_SUFFIX = ".kv"
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


@dataclass(frozen=True)
class _File:
    used_nanoseconds: int
    path: Path
    size: int


class KvStore:
    """A folder of states. Any number of processes may use it at once."""

    def __init__(self, folder: Path, *, cap_bytes: int) -> None:
        """folder: made when there is something to keep. cap_bytes: of all entries; 0 keeps none."""
        self._folder = folder
        self._cap_bytes = cap_bytes

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
        path = self._path(key)
        try:
            with Draft(path) as draft:
                self._make_room(size, path)
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

    def entries(self) -> list[KvEntry]:
        """All that are sound at first sight; the one used last comes first."""
        found = []
        for file in sorted(self._files(), key=_age, reverse=True):
            with suppress(OSError, Damaged), _open(file.path, self._cap_bytes) as opened:
                found.append(_entry(*opened))
        return found

    def size_bytes(self) -> int:
        """Bytes of all its files, unfinished ones included."""
        drafts = [file.size for file in self._files(drafts=True)]
        return sum(drafts) + sum(file.size for file in self._files())

    def remove(self, key: str) -> bool:
        """Whether there was an entry, which now is gone. Raises OutputError if it must stay."""
        return _remove(self._path(key))

    def clear(self) -> None:
        """Remove all entries. Raises OutputError if one must stay."""
        for file in [*self._files(), *self._files(drafts=True)]:
            _remove(file.path)

    def _path(self, key: str) -> Path:
        import hashlib

        name = hashlib.sha256(key.encode("utf-8", errors="surrogatepass")).hexdigest()
        return self._folder / f"{name[:40]}{_SUFFIX}"

    def _take(self, key: str, read: Callable[[BinaryIO, Head], _Read | None]) -> _Read | None:
        """What `read` makes of the key's file. One that is not ours or damaged is removed."""
        path = self._path(key)
        try:
            with _open(path, self._cap_bytes) as (stream, head):
                if head.header.key != key:
                    raise Damaged("another key")
                return read(stream, head)
        except Damaged:
            with suppress(OSError):
                path.unlink()
        except (OSError, MemoryError):
            pass
        return None

    def _make_room(self, size: int, path: Path) -> None:
        """For `size` bytes at `path`: what was used longest ago goes."""
        others = sorted((file for file in self._files() if file.path != path), key=_age)
        excess = sum(file.size for file in others) + size - self._cap_bytes
        for file in others:
            if excess <= 0:
                return
            with suppress(FileNotFoundError):
                file.path.unlink()
            excess -= file.size

    def _files(self, *, drafts: bool = False) -> list[_File]:
        """Those with an entry in them, or those that are not finished."""
        found = []
        with suppress(OSError), os.scandir(self._folder) as folder:
            for place in folder:
                if is_draft(place.name) if drafts else place.name.endswith(_SUFFIX):
                    with suppress(OSError):
                        status = place.stat(follow_symlinks=False)
                        found.append(_File(status.st_mtime_ns, Path(place.path), status.st_size))
        return found


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


def _age(file: _File) -> tuple[int, Path]:
    return file.used_nanoseconds, file.path


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise OutputError(
            f"{shown(path)} cannot be removed ({error.strerror}): remove it yourself"
        ) from error
    return True
