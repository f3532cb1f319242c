"""The cache folder that huggingface_hub, transformers and llama.cpp share, read and written.

Promises that nothing has its final name before it is whole, and that what comes from outside
becomes a path only after a check. Imports none of those libraries and asks no network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nextok.backends.cache_removal import (
    Partial,
    Removal,
    partials,
    removal,
    remove,
    remove_partial,
)
from nextok.backends.cache_writing import prepare, publish, same_elsewhere, settle, whole_copy
from nextok.backends.cached_models import CachedModel, cached_models, find_cached
from nextok.backends.hub_files import HubFile
from nextok.backends.hub_layout import Layout, cache_root
from nextok.backends.hub_reference import HubReference

__all__ = ["CachedModel", "HubCache", "Partial", "Removal"]


class HubCache:
    """One cache folder, by default the one the environment names (HF_HUB_CACHE, HF_HOME, XDG).

    Reading it never raises for what is not there. Writing raises CacheNotWritable and DiskFull;
    a hash, commit or name from outside that is none raises WrongBytes.
    """

    def __init__(self, root: Path | None = None, *, clock: Callable[[], float] = time.time) -> None:
        """clock: seconds since 1970, to tell a partial that is growing from an orphan."""
        self.root = cache_root() if root is None else root
        self._layout = Layout(self.root)
        self._clock = clock

    def find(self, reference: HubReference, memory_bytes: int | None = None) -> Path | None:
        """The first part of the model, if all of it is here. No network; may be read-only.

        Raises Ambiguous when several models here are meant.
        """
        return find_cached(self._layout, reference, memory_bytes)

    def models(self) -> list[CachedModel]:
        """All whole models, by name."""
        return cached_models(self._layout)

    def detached(self) -> list[CachedModel]:
        """Models of revisions that no branch or tag leads to, and of which there is a newer one.

        One that was fetched by its commit, without a branch, is not among them.
        """
        models = self.models()
        current = {_name(model) for model in models if model.refs}
        return [model for model in models if not model.refs and _name(model) in current]

    def blob(self, repo: str, etag: str) -> Path:
        """Where the contents with this hash belong."""
        return self._layout.blob(repo, etag)

    def partial(self, repo: str, etag: str) -> Path:
        """Where they grow."""
        return self._layout.partial(repo, etag)

    def lock(self, repo: str, etag: str) -> Path:
        """The lock that everybody takes who fetches them."""
        return self._layout.lock(repo, etag)

    def pointer(self, repo: str, commit: str, path: str) -> Path:
        """The name of a file in the snapshot of a commit."""
        return self._layout.pointer(repo, commit, path)

    def prepare(self, repo: str, etag: str) -> None:
        """Make the folders that a download needs."""
        prepare(self._layout, repo, etag)

    def whole_copy(self, repo: str, commit: str, file: HubFile) -> Path | None:
        """Where all of a file is already, by its name at this commit or its hash."""
        return whole_copy(self._layout, repo, commit, file)

    def same_elsewhere(
        self, repo: str, file: HubFile, report: Callable[[int], None]
    ) -> Path | None:
        """The same file in another snapshot, kept there without a link: its hash is computed."""
        return same_elsewhere(self._layout, repo, file, report)

    def settle(self, repo: str, etag: str) -> None:
        """What grew is whole: call it a blob."""
        settle(self._layout, repo, etag)

    def publish(
        self,
        repo: str,
        commit: str,
        revision: str,
        files: Sequence[tuple[HubFile, Path | None]],
    ) -> Path:
        """Give whole blobs their names in the snapshot; then move the ref.

        files: each with what `same_elsewhere` found for it. Returns the path of the first.
        """
        return publish(self._layout, repo, commit, revision, files)

    def partials(self) -> list[Partial]:
        """What interrupted downloads left, whoever's; those under way are not among them."""
        return partials(self._layout, self._clock())

    def removal(self, models: Sequence[CachedModel]) -> Removal:
        """What removing these models would take away and free. Touches nothing."""
        return removal(self._layout, models)

    def remove(self, what: Removal) -> None:
        """Take it away. Raises CacheNotWritable."""
        remove(self._layout, what)

    def remove_partial(self, partial: Partial) -> bool:
        """Delete it unless somebody is at it just now."""
        return remove_partial(self._layout, partial, self._clock())


def _name(model: CachedModel) -> tuple[str, str]:
    return model.repo, model.path.name
