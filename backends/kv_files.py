"""The files of the store of KV states: which there are, how old and how large.

Promises to touch no file but the store's own. Knows nothing of what is in them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.draft_file import is_draft
from nextok.backends.shown_text import shown
from nextok.generation.errors import OutputError

_SUFFIX = ".kv"


@dataclass(frozen=True, order=True)
class KvFile:
    """In the order of use, the one used longest ago first."""

    used_nanoseconds: int
    path: Path
    size: int


class KvFiles:
    """A folder, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, key: str) -> Path:
        """Where the entry of a key is, or would be. The name does not tell the key."""
        import hashlib  # 5 ms, and not every run has a state to keep

        name = hashlib.sha256(key.encode("utf-8", errors="surrogatepass")).hexdigest()
        return self._folder / f"{name[:40]}{_SUFFIX}"

    def entries(self) -> list[KvFile]:
        """Those with an entry in them, in the order of use."""
        return sorted(self._find(drafts=False))

    def drafts(self) -> list[KvFile]:
        """Those that are not finished, or never will be."""
        return self._find(drafts=True)

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

    def _find(self, *, drafts: bool) -> list[KvFile]:
        found = []
        with suppress(OSError), os.scandir(self._folder) as folder:
            for place in folder:
                if is_draft(place.name) if drafts else place.name.endswith(_SUFFIX):
                    with suppress(OSError):
                        status = place.stat(follow_symlinks=False)
                        found.append(KvFile(status.st_mtime_ns, Path(place.path), status.st_size))
        return found


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
