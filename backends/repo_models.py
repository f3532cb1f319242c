"""The models of a repository, by the names of its files.

Promises each set of parts as one, and only what an engine can run by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.quant_names import HEADS, NEVER, quant_of, word_for
from nextok.backends.split_files import part_paths

_MEMORY_PER_BYTE = 1.2
"""Of the file: its weights, and beside them the KV cache and the buffers of the engine."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One model of a repository: a file, or a set of parts in order."""

    name: str
    """The path of the first part."""
    quant: str | None
    """As in the name, in upper case: Q4_K_M, UD-Q4_K_XL; None when the name has none."""
    parts: tuple[HubFile, ...]
    bytes: int
    fits: bool | None
    """Whether it runs in this machine's memory; None when that is not known."""
    missing: str | None = None
    """The first part that the repository does not have."""

    @property
    def label(self) -> str:
        """What to write after the colon to get this one."""
        return self.quant or PurePosixPath(self.name).name


def candidates(listing: Listing, memory_bytes: int | None) -> list[Candidate]:
    """All models of the repository, smallest first."""
    return [
        model
        for model in _sets(listing, memory_bytes)
        if word_for(model.name, (*NEVER, *HEADS)) is None
    ]


def _sets(listing: Listing, memory_bytes: int | None) -> list[Candidate]:
    """All GGUF files, the parts of one set together, smallest first."""
    files = {file.path: file for file in listing.files if file.path.lower().endswith(".gguf")}
    firsts = {str(part_paths(Path(path))[0]): path for path in files}
    models = [set_of(path, files, memory_bytes) for path in firsts.values()]
    return sorted(models, key=lambda model: (model.bytes, model.name))


def set_of(path: str, files: Mapping[str, HubFile], memory_bytes: int | None) -> Candidate:
    """The set that a path is of, and what it lacks."""
    names = [str(part) for part in part_paths(Path(path))]
    parts = tuple(files[name] for name in names if name in files)
    size = sum(part.size for part in parts)
    return Candidate(
        name=names[0],
        quant=quant_of(names[0]),
        parts=parts,
        bytes=size,
        fits=None if memory_bytes is None else size * _MEMORY_PER_BYTE <= memory_bytes,
        missing=next((name for name in names if name not in files), None),
    )
