"""The cache folder that huggingface_hub, transformers and llama.cpp share, read and written.

Promises that nothing has its final name before it is whole, and that what comes from outside
becomes a path only after a check. Imports none of those libraries and asks no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.hub_files import HubFile
from nextok.backends.hub_reference import HubReference


@dataclass(frozen=True, kw_only=True)
class CachedModel:
    """A whole model in the cache."""

    repo: str
    quant: str | None
    reference: str
    """The canonical name that finds it again."""
    commit: str
    refs: tuple[str, ...]
    """Branches and tags that lead to this commit; none: a detached revision."""
    path: Path
    """What to open: the first part, in the snapshot."""
    parts: tuple[Path, ...]
    bytes: int
    last_used: float
    """Seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Partial:
    """A download that was not finished."""

    path: Path
    repo: str
    bytes: int
    ours: bool
    """Whether a later pull can go on from it."""


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What a removal takes away. Blobs that other revisions use are not in it."""

    names: tuple[Path, ...]
    """In the snapshots."""
    blobs: tuple[Path, ...]
    refs: tuple[Path, ...]
    bytes: int
    """That become free."""


class HubCache:
    """One cache folder, by default the one the environment names (HF_HUB_CACHE, HF_HOME, XDG)."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or Path()

    def find(self, reference: HubReference, memory_bytes: int | None = None) -> Path | None:
        """The first part of the model, if all of it is here. No network; may be read-only.

        Raises Ambiguous when several models here are meant.
        """
        raise NotImplementedError

    def models(self) -> list[CachedModel]:
        """All whole models, by name."""
        raise NotImplementedError

    def blob(self, repo: str, etag: str) -> Path:
        """Where the contents with this hash belong."""
        raise NotImplementedError

    def partial(self, repo: str, etag: str) -> Path:
        """Where they grow."""
        raise NotImplementedError

    def lock(self, repo: str, etag: str) -> Path:
        """The lock that everybody takes who fetches them."""
        raise NotImplementedError

    def publish(
        self, repo: str, commit: str, revision: str, parts: Sequence[tuple[HubFile, str]]
    ) -> Path:
        """Give whole blobs, as (file, etag), their names in the snapshot; then move the ref.

        Returns the path of the first part.
        """
        raise NotImplementedError

    def partials(self) -> list[Partial]:
        """What interrupted downloads left, whoever's; those under way are not among them."""
        raise NotImplementedError

    def detached(self) -> list[CachedModel]:
        """Models of revisions that no branch or tag leads to."""
        raise NotImplementedError

    def removal(self, models: Sequence[CachedModel]) -> Removal:
        """What removing these models would take away and free. Touches nothing."""
        raise NotImplementedError

    def remove(self, removal: Removal) -> None:
        """Take it away. Raises CacheNotWritable."""
        raise NotImplementedError

    def remove_partial(self, partial: Partial) -> bool:
        """Delete it unless somebody is at it just now."""
        raise NotImplementedError
