"""The files of the store of KV states: which there are, how old and how large.

Promises to touch no file but the store's own. Knows nothing of what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from nextok.backends.draft_file import is_draft
from nextok.backends.shown_text import shown
from nextok.generation.errors import OutputError

_SUFFIX = ".kv"
_SEEN = "seen-blocks"


class KvFile(NamedTuple):
    """In the order of use, the one used longest ago first."""

    used_nanoseconds: int
    path: Path
    size: int


class KvFiles:
    """A folder, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def seen(self) -> Path:
        """What is remembered of prompts that were read, not of what they said."""
        return self._folder / _SEEN

    def path(self, key: str) -> Path:
        """Where the entry of a key is, or would be. The name does not tell the key.

        What stands before a slash is the entry's group.
        """
        group, slash, _ = key.rpartition("/")
        start = _start(group) if slash else ""
        return self._folder / f"{start}{_digest(key)[:40]}{_SUFFIX}"

    def group(self, group: str) -> list[KvFile]:
        """The entries of a group, in the order of use."""
        start = _start(group)
        return [file for file in self.entries() if file.path.name.startswith(start)]

    def entries(self) -> list[KvFile]:
        """Those with an entry in them, in the order of use."""
        return sorted(self._find(_is_entry))

    def all(self) -> list[KvFile]:
        """Those that are not finished, or never will be, and what was seen, too."""
        return sorted(self._find(lambda name: _is_entry(name) or is_draft(name) or name == _SEEN))

    def make_room(self, size: int, path: Path, *, cap_bytes: int) -> None:
        """For `size` bytes at `path`: what was used longest ago goes. Raises OSError."""
        others = [file for file in self.entries() if file.path != path]
        excess = sum(file.size for file in others) + size - cap_bytes
        for file in others:
            if excess <= 0:
                return
            with suppress(FileNotFoundError):
                file.path.unlink()
            excess -= file.size

    def _find(self, is_wanted: Callable[[str], bool]) -> list[KvFile]:
        found = []
        with suppress(OSError), os.scandir(self._folder) as folder:
            for place in folder:
                if is_wanted(place.name):
                    with suppress(OSError):
                        status = place.stat(follow_symlinks=False)
                        found.append(KvFile(status.st_mtime_ns, Path(place.path), status.st_size))
        return found


def _is_entry(name: str) -> bool:
    return name.endswith(_SUFFIX)


def _start(group: str) -> str:
    return f"{_digest(group)[:16]}-"


def _digest(text: str) -> str:
    import hashlib  # 5 ms, and not every run has a state to keep

    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def remove(path: Path) -> bool:
    """Whether it was there. Raises OutputError if it must stay."""
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise OutputError(
            f"{shown(path)} cannot be removed ({error.strerror}): remove it yourself"
        ) from error
    return True
