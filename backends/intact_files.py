"""Whether a file on disk still has the bytes that the hub lists, computed once and remembered.

Promises to read a file again as soon as it looks changed, or was found to be wrong since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.hub_files import HubFile
from nextok.backends.partial_file import is_whole
from nextok.backends.seen_files import SeenFiles

_RIGHT, _WRONG = "sha256", "other sha256"


@dataclass(frozen=True, kw_only=True)
class IntactFiles:
    """What is known of the files here."""

    seen: SeenFiles
    reading: Callable[[HubFile, int], None] = lambda file, done: None
    """Told the bytes of a file that were read so far; may raise to stop."""

    def has(self, path: Path, file: HubFile) -> bool:
        """Whether the path holds exactly this file."""
        return self.is_known(path) or is_whole(path, file, lambda done: self.reading(file, done))

    def is_known(self, path: Path) -> bool:
        """Whether it was found right, and not to be wrong since."""
        return self.seen.has(path, _RIGHT) and not self.seen.has(path, _WRONG)

    def add(self, path: Path) -> None:
        """The whole model at this path was read, and is right."""
        self.seen.add(path, _RIGHT)

    def refuse(self, path: Path) -> None:
        """Something is wrong with it, although nothing of it may look changed."""
        self.seen.add(path, _WRONG)
