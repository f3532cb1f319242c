"""Remembers which model files passed which check, so that it is not made again.

Promises never to fail and never to be wrong about a changed file: what cannot be read or written
is merely not remembered. Holds figures of the file system and no names.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from nextok.backends.split_files import part_paths

_NAME = "checked-models.json"
_MOST_FILES = 1000
_MOST_BYTES = 1 << 20


class SeenFiles:
    """A small JSON file in `folder`, which is made when there is something to write.

    Two processes that write at the same moment may lose one of the two entries, nothing else.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME

    def has(self, path: Path, kind: str) -> bool:
        """Whether the file, and all parts of its model, passed `kind` as they are now."""
        identity = _identity(path)
        return identity is not None and kind in self._load().get(identity, ())

    def add(self, path: Path, kind: str) -> None:
        """Remember that the file passed `kind` ("header", "trial")."""
        identity = _identity(path)
        if identity is None or self.has(path, kind):
            return
        entries = self._load()
        kinds = entries.pop(identity, [])
        entries[identity] = sorted({*kinds, kind})
        newest = list(entries.items())[-_MOST_FILES:]
        with suppress(OSError):
            self._save(dict(newest))

    def _load(self) -> dict[str, list[str]]:
        """Oldest first. Anything that is not what `_save` writes counts as nothing."""
        try:
            if not self._path.is_file():  # to open a pipe may take for ever
                return {}
            with self._path.open("rb") as file:
                entries = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(entries, dict):
            return {}
        return {key: kinds for key, kinds in entries.items() if _is_list_of_text(kinds)}

    def _save(self, entries: dict[str, list[str]]) -> None:
        import tempfile  # seldom needed, and it takes 6 ms

        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # mkstemp makes the file 0600, and the rename puts it in place whole or not at all.
        descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=_NAME)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(entries, file, indent=0)
            os.replace(name, self._path)
        except OSError:
            os.unlink(name)
            raise


def _identity(path: Path) -> str | None:
    """Device, inode, size and time of change of a model's files; None when one is not there."""
    figures = []
    for part in part_paths(path):
        try:
            status = part.stat()
        except (OSError, ValueError):
            return None
        figures.append(f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}")
    return " ".join(figures)


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
