"""Where things are in the cache folder that huggingface_hub, transformers and llama.cpp share.

    models--OWNER--NAME/blobs/HASH            the contents
                       /snapshots/COMMIT/PATH their names at one commit: links into blobs/
                       /refs/BRANCH           the commit a branch was at
    .locks/models--OWNER--NAME/HASH.lock

Promises that what comes from outside becomes a path only after a check. Writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.hub_errors import WrongBytes
from nextok.backends.hub_names import is_commit, is_etag, is_file_path, is_repo, is_revision
from nextok.backends.shown_text import shown

_PREFIX = "models--"
OUR_PARTIAL = ".nextok.incomplete"
PARTIALS = (".incomplete", ".downloadInProgress")
"""The ends of the names of unfinished files: huggingface_hub's and ours, llama.cpp's."""


def cache_root() -> Path:
    """The folder that the environment names, as huggingface_hub reads it."""
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return _expanded(named) if named else hub_home() / "hub"


def hub_home() -> Path:
    """Where the hub's tools keep what is theirs: HF_HOME, else below the user's caches."""
    named = os.environ.get("HF_HOME")
    if named:
        return _expanded(named)
    return _expanded(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One commit of a repository, as far as it is on disk."""

    repo: str
    commit: str
    folder: Path
    refs: tuple[str, ...]
    """Branches and tags that lead here, `main` first."""


@dataclass(frozen=True)
class Layout:
    """All paths below one cache folder. Methods raise WrongBytes for a hash that is none."""

    root: Path

    def folder(self, repo: str) -> Path:
        if not is_repo(repo):
            raise WrongBytes(f"{shown(repo)!r} is no name of a repository: check HF_ENDPOINT")
        return self.root / (_PREFIX + repo.replace("/", "--"))

    def blob(self, repo: str, etag: str) -> Path:
        if not is_etag(etag):
            raise WrongBytes("the hub gave a file's hash that is none: check HF_ENDPOINT")
        return self.folder(repo) / "blobs" / etag

    def partial(self, repo: str, etag: str) -> Path:
        blob = self.blob(repo, etag)
        return blob.with_name(blob.name + OUR_PARTIAL)

    def lock(self, repo: str, etag: str) -> Path:
        blob = self.blob(repo, etag)
        return self.root / ".locks" / self.folder(repo).name / f"{blob.name}.lock"

    def snapshot(self, repo: str, commit: str) -> Path:
        if not is_commit(commit):
            raise WrongBytes("the hub gave a commit that is none: check HF_ENDPOINT")
        return self.folder(repo) / "snapshots" / commit

    def pointer(self, repo: str, commit: str, path: str) -> Path:
        if not is_file_path(path):
            raise WrongBytes(f"the hub gave a file name that is none: {shown(path)!r}")
        return self.snapshot(repo, commit) / path

    def ref(self, repo: str, revision: str) -> Path:
        if not is_revision(revision):
            raise WrongBytes(f"{shown(revision)!r} is no branch or tag")
        return self.folder(repo) / "refs" / revision

    def repos(self) -> list[str]:
        """The model repositories here, by name."""
        names = (
            folder.name.removeprefix(_PREFIX).replace("--", "/")
            for folder in children(self.root)
            if folder.name.startswith(_PREFIX)
        )
        return sorted(name for name in names if is_repo(name))

    def commit_of(self, repo: str, revision: str) -> str | None:
        """Where the branch was when it was last looked at."""
        if is_commit(revision):
            return revision
        try:
            text = self.ref(repo, revision).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return None
        return text if is_commit(text) else None

    def snapshots(self, repo: str) -> list[Snapshot]:
        """Those that `main` leads to first, then by other refs, then the newest first."""
        refs: dict[str, list[str]] = {}
        for revision in self._revisions(repo):
            refs.setdefault(self.commit_of(repo, revision) or "", []).append(revision)
        found = [
            Snapshot(
                repo=repo,
                commit=folder.name,
                folder=folder,
                refs=tuple(
                    sorted(refs.get(folder.name, ()), key=lambda name: (name != "main", name))
                ),
            )
            for folder in children(self.folder(repo) / "snapshots")
            if is_commit(folder.name)
        ]
        newest = sorted(found, key=lambda one: -modified(one.folder))
        return sorted(newest, key=lambda one: ("main" not in one.refs, not one.refs))

    def _revisions(self, repo: str) -> Iterator[str]:
        folder = self.folder(repo) / "refs"
        for at, _, names in os.walk(folder):
            for name in names:
                revision = (Path(at) / name).relative_to(folder).as_posix()
                if is_revision(revision):
                    yield revision


def children(folder: Path) -> list[Path]:
    """What is in a folder; nothing when it cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def target_of(pointer: Path) -> Path:
    """The blob that a name in a snapshot stands for; itself, where there are no links.

    Only the first link is followed: a blob may be one too, and is the one to be removed.
    """
    try:
        return Path(os.path.normpath(pointer.parent / os.readlink(pointer)))
    except OSError:
        return pointer


def _expanded(text: str) -> Path:
    return Path(os.path.expandvars(os.path.expanduser(text)))
