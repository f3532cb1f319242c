"""Gives whole contents their final names in the cache folder.

Promises that no name is there before its contents are whole, that the branch moves last, and that
contents are kept once: as a blob with links to it, or where there are no links under their name.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nextok.backends.hub_files import HubFile
from nextok.backends.hub_layout import Layout
from nextok.backends.hub_names import is_commit
from nextok.backends.kept_sums import forget, keep
from nextok.backends.partial_file import is_whole, write_error

_YES = ("1", "ON", "YES", "TRUE")


def prepare(layout: Layout, repo: str, etag: str) -> None:
    """The folders that a download needs. Raises CacheNotWritable, DiskFull."""
    with _writing(layout.root):
        layout.lock(repo, etag).parent.mkdir(parents=True, exist_ok=True)
        layout.blob(repo, etag).parent.mkdir(parents=True, exist_ok=True)
        # Without this folder other tools call the repository corrupt while it is fetched.
        (layout.folder(repo) / "snapshots").mkdir(exist_ok=True)


def whole_copy(layout: Layout, repo: str, commit: str, file: HubFile) -> Path | None:
    """Where all of a file is already: under its name at this commit, or as a blob."""
    places = [layout.pointer(repo, commit, file.path)]
    if file.etag is not None:
        places.append(layout.blob(repo, file.etag))
    return next((path for path in places if _size(path) == file.size), None)


def same_elsewhere(
    layout: Layout, repo: str, file: HubFile, report: Callable[[int], None]
) -> Path | None:
    """The same file in another snapshot, kept there without a link: its hash is computed.

    So a new commit that changed only a README costs no download where there are no links.
    report: told the bytes read so far; may raise to stop.
    """
    if file.etag is None:
        return None
    paths = (snapshot.folder / file.path for snapshot in layout.snapshots(repo))
    unlinked = (path for path in paths if not path.is_symlink() and _size(path) == file.size)
    return next((path for path in unlinked if is_whole(path, file, report)), None)


def settle(layout: Layout, repo: str, etag: str) -> None:
    """What grew is whole: call it a blob."""
    with _writing(layout.root):
        _move(layout.partial(repo, etag), layout.blob(repo, etag))


def publish(
    layout: Layout,
    repo: str,
    commit: str,
    revision: str,
    files: Sequence[tuple[HubFile, Path | None]],
) -> Path:
    """Name the whole blobs in the snapshot; then move the branch. The path of the first.

    files: each with the other name that `same_elsewhere` found, if that is where its contents are.
    """
    pointers = [layout.pointer(repo, commit, file.path) for file, _ in files]
    with _writing(layout.root):
        for (file, elsewhere), pointer in zip(files, pointers, strict=True):
            if file.etag is None:
                continue
            blob = layout.blob(repo, file.etag)
            if elsewhere is not None:
                _adopt(elsewhere, blob)
            _name(blob, pointer)
            if file.sha256 is not None and not pointer.is_symlink():
                keep(pointer, file.sha256)
        if not is_commit(revision):
            _write_ref(layout, repo, commit, revision)
    return pointers[0]


def _adopt(old: Path, blob: Path) -> None:
    """Without a copy: a second name for the old one; where there are none, instead of it."""
    try:
        os.link(old, blob)
    except FileExistsError:
        return
    except OSError:
        _move(old, blob)
        forget(old)
        with suppress(OSError):  # there is more in it
            old.parent.rmdir()


def _name(blob: Path, pointer: Path) -> None:
    """A link, if there are links; else the contents themselves."""
    if not blob.exists():
        return  # they have their name already, without a link
    if pointer.is_symlink() and pointer.exists() and pointer.samefile(blob):
        return
    pointer.parent.mkdir(parents=True, exist_ok=True)
    if not _links_forbidden():
        link = _beside(pointer)
        try:
            os.symlink(os.path.relpath(blob, pointer.parent), link)
        except (OSError, NotImplementedError):
            pass  # no links on this file system, or not for this user
        else:
            _move(link, pointer)
            return
    _move(blob, pointer)


def _write_ref(layout: Layout, repo: str, commit: str, revision: str) -> None:
    ref = layout.ref(repo, revision)
    if layout.commit_of(repo, revision) == commit:
        return
    ref.parent.mkdir(parents=True, exist_ok=True)
    # Not in refs/, where other tools take every file for a branch.
    draft = _beside(layout.folder(repo) / "ref")
    draft.write_text(commit, encoding="ascii")
    _move(draft, ref)


def _links_forbidden() -> bool:
    return os.environ.get("HF_HUB_DISABLE_SYMLINKS", "").upper() in _YES


def _beside(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(4)}.nextok")


def _move(source: Path, target: Path) -> None:
    """At once or not at all."""
    os.replace(source, target)
    with suppress(FileNotFoundError):
        source.unlink()  # a rename between two names of the same contents leaves both


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise write_error(error, root / "models") from error
