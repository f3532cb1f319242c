"""The whole models in the cache folder, found by the names in its snapshots.

Reads the file system only, also a read-only one, and passes over what cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.hub_errors import FileNotInRepo
from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.hub_layout import Layout, Snapshot, target_of
from nextok.backends.hub_names import is_sha256
from nextok.backends.hub_reference import HubReference
from nextok.backends.quant_choice import Ambiguous, Candidate, UnknownQuant, candidates, choose
from nextok.generation.errors import HubError


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
    sha256s: tuple[str | None, ...]
    """What the contents of each part must hash to; None where there are no links that say so."""
    bytes: int
    last_used: float
    """Seconds since 1970."""


def find_cached(layout: Layout, reference: HubReference, memory_bytes: int | None) -> Path | None:
    """The first part of the model that is meant, if all of it is here.

    Without a revision any that is here will do: an update that was cut short, or another tool
    that only asked for the new commit, must not hide the model that is whole.
    """
    snapshots = layout.snapshots(reference.repo)
    if reference.revision is not None:
        commit = layout.commit_of(reference.repo, reference.revision)
        snapshots = [snapshot for snapshot in snapshots if snapshot.commit == commit]
    for snapshot in snapshots:
        try:
            choice = choose(_listing(snapshot), reference, memory_bytes)
        except (UnknownQuant, FileNotInRepo):
            continue
        except Ambiguous:
            raise
        except HubError:  # none here, or not all of it
            continue
        return snapshot.folder / choice.parts[0].path
    return None


def cached_models(layout: Layout) -> list[CachedModel]:
    """All whole models, by repository; those that a branch leads to before detached ones."""
    return [model for repo in layout.repos() for model in _of_repo(layout, repo)]


def _of_repo(layout: Layout, repo: str) -> Iterator[CachedModel]:
    names: set[str] = set()
    for snapshot in layout.snapshots(repo):
        models = [model for model in candidates(_listing(snapshot), None) if not model.missing]
        quants = [model.quant for model in models]
        for model in models:
            by_quant = model.quant is not None and quants.count(model.quant) == 1
            reference = HubReference(
                repo=repo,
                revision=_revision(snapshot) if model.name in names else None,
                quant=model.quant if by_quant else None,
                file=None if by_quant else model.name,
            )
            yield _model(snapshot, model, str(reference))
        names.update(model.name for model in models)


def _revision(snapshot: Snapshot) -> str:
    return snapshot.refs[0] if snapshot.refs else snapshot.commit


def _model(snapshot: Snapshot, model: Candidate, reference: str) -> CachedModel:
    paths = tuple(snapshot.folder / part.path for part in model.parts)
    return CachedModel(
        repo=snapshot.repo,
        quant=model.quant,
        reference=reference,
        commit=snapshot.commit,
        refs=snapshot.refs,
        path=paths[0],
        parts=paths,
        sha256s=tuple(part.sha256 for part in model.parts),
        bytes=model.bytes,
        last_used=last_used(paths[0]),
    )


def _listing(snapshot: Snapshot) -> Listing:
    """The files of a snapshot as if the hub had listed them."""
    return Listing(
        repo=snapshot.repo,
        revision=_revision(snapshot),
        commit=snapshot.commit,
        gated=False,
        files=tuple(_files(snapshot.folder)),
    )


def _files(folder: Path) -> Iterator[HubFile]:
    for at, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(at) / name
            try:
                size = path.stat().st_size
            except OSError:  # a link to what is gone
                continue
            blob = target_of(path)
            yield HubFile(
                path=path.relative_to(folder).as_posix(),
                size=size,
                sha256=blob.name if blob != path and is_sha256(blob.name) else None,
            )


def last_used(path: Path) -> float:
    """Read or written, whichever came later, as far as the file system tells."""
    try:
        status = path.stat()
    except OSError:
        return 0.0
    return max(status.st_atime, status.st_mtime)
