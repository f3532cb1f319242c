"""What can be taken out of the cache folder, and what that frees.

Promises to keep every blob that something else in the cache uses.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.cached_models import CachedModel
from nextok.backends.hub_errors import CacheNotWritable
from nextok.backends.hub_layout import (
    OUR_PARTIAL,
    PARTIALS,
    Layout,
    children,
    modified,
    target_of,
)
from nextok.backends.hub_names import is_etag
from nextok.backends.kept_sums import kept_place
from nextok.backends.shown_text import shown

_IN_USE_SECONDS = 60.0
"""A partial that grew so lately may belong to a tool that takes no lock."""


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
    """Of branches whose commit is gone with them."""
    bytes: int
    """That become free."""


def removal(layout: Layout, models: Sequence[CachedModel]) -> Removal:
    """What removing these models would take away and free."""
    names = {part for model in models for part in model.parts}
    blobs: list[Path] = []
    refs: list[Path] = []
    for repo in sorted({model.repo for model in models}):
        left = {
            target_of(name)
            for snapshot in layout.snapshots(repo)
            for name in _names(snapshot.folder)
            if name not in names
        }
        gone = {target_of(name) for name in names if layout.folder(repo) in name.parents}
        blobs += sorted(gone - left - names)
        for snapshot in layout.snapshots(repo):
            if all(name in names for name in _names(snapshot.folder)):
                refs += [layout.ref(repo, revision) for revision in snapshot.refs]
    shared = [store for blob in blobs for store in _shared(layout, blob)]
    freed = {path for path in (*names, *blobs, *shared) if not path.is_symlink()}
    return Removal(
        names=tuple(sorted(names)),
        blobs=tuple(blobs + shared),
        refs=tuple(refs),
        bytes=sum(_freed(path) for path in freed),
    )


def remove(layout: Layout, what: Removal) -> None:
    """Names first, so that a removal cut short leaves no name without contents."""
    sums = [place for place in map(kept_place, what.names) if place is not None]
    try:
        for path in (*what.refs, *what.names, *sums, *what.blobs):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise CacheNotWritable(
            f"{shown(error.filename)} cannot be removed ({error.strerror}): the cache at"
            f" {shown(layout.root)} must be writable for that"
        ) from error
    for folder in {name.parent for name in (*what.names, *sums, *what.refs)}:
        _remove_empty(folder, layout.root)
    for folder in {layout.root / name.relative_to(layout.root).parts[0] for name in what.names}:
        _remove_if_bare(folder)


def partials(layout: Layout, now: float) -> list[Partial]:
    """What interrupted downloads left, whoever's; those under way are not among them."""
    return [
        Partial(path=path, repo=repo, bytes=_size(path), ours=path.name.endswith(OUR_PARTIAL))
        for repo in layout.repos()
        for path in sorted(children(layout.folder(repo) / "blobs"))
        if path.name.endswith(PARTIALS) and not _in_use(layout, repo, path, now)
    ]


def remove_partial(layout: Layout, partial: Partial, now: float) -> bool:
    """Delete it unless somebody is at it just now. Raises CacheNotWritable."""
    if _in_use(layout, partial.repo, partial.path, now):
        return False
    try:
        partial.path.unlink(missing_ok=True)
    except OSError as error:
        raise CacheNotWritable(
            f"{shown(partial.path)} cannot be removed ({error.strerror})"
        ) from error
    _remove_if_bare(layout.folder(partial.repo))
    return True


def _in_use(layout: Layout, repo: str, path: Path, now: float) -> bool:
    """Whether somebody holds the lock of its contents, or takes none and is at it."""
    if not path.name.endswith(OUR_PARTIAL) and now - modified(path) < _IN_USE_SECONDS:
        return True
    etag = path.name.partition(".")[0]
    if not is_etag(etag):
        return False
    try:
        descriptor = os.open(layout.lock(repo, etag), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)  # which unlocks it
    return False


def _shared(layout: Layout, blob: Path) -> Iterator[Path]:
    """What a blob stands for in the store that all repositories share, if no other does too."""
    if not blob.is_symlink():
        return
    store = target_of(blob)
    if layout.root / "blobs" not in store.parents:
        return
    others = (
        other
        for folder in children(layout.root)
        for other in children(folder / "blobs")
        if other != blob and other.is_symlink() and "--" in folder.name
    )
    if not any(target_of(other) == store for other in others):
        yield store


def _names(folder: Path) -> Iterator[Path]:
    for at, _, names in os.walk(folder):
        yield from (Path(at) / name for name in names)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _freed(path: Path) -> int:
    """Nothing, as long as the contents have another name outside."""
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if status.st_nlink == 1 else 0


def _remove_empty(folder: Path, root: Path) -> None:
    """The folder and those around it, as far as they are empty."""
    with suppress(OSError):
        while folder != root and folder.name not in ("snapshots", "refs"):
            folder.rmdir()
            folder = folder.parent


def _remove_if_bare(folder: Path) -> None:
    """A repository of which there is nothing left: markers of what the hub has not, at most."""
    if not children(folder / "snapshots") and not children(folder / "blobs"):
        shutil.rmtree(folder, ignore_errors=True)
