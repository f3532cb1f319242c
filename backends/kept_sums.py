"""The sha256 of downloaded files that are not called by it: written down beside them.

In the hub's cache folder a file is a link to a blob, whose name is the sha256. Where there are no
links it is the file itself, and so our downloads leave the sum in a folder that other tools pass
over:

    models--OWNER--NAME/sha256/COMMIT/PATH.sha256

huggingface_hub leaves one too of what it fetches into another folder than its cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nextok.backends.hub_names import is_commit, is_sha256

_FOLDER = "sha256"
_LOCAL_FOLDER = ".cache/huggingface/download"
_MOST_BYTES = 4096


def keep(pointer: Path, sha256: str) -> None:
    """Write it down for the file of this name in a snapshot, if that can be done."""
    place = kept_place(pointer)
    if place is None or _words(place) == [sha256]:
        return
    with suppress(OSError):  # the file itself is there and right
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{sha256}\n", encoding="ascii")


def forget(pointer: Path) -> None:
    """The file of this name is gone."""
    place = kept_place(pointer)
    if place is not None:
        with suppress(OSError):
            place.unlink()
            place.parent.rmdir()


def kept(path: Path) -> str | None:
    """What was written down for a file, by us or by huggingface_hub; None if nothing."""
    place = kept_place(path)
    found = [] if place is None else _words(place)[:1]
    for metadata in _local_metadata(path):
        found += _words(metadata)[1:2]  # commit, sum, time
    return next((sum_ for sum_ in found if is_sha256(sum_)), None)


def kept_place(pointer: Path) -> Path | None:
    """Where it is written down; None for a path that is in no snapshot of a repository."""
    for folder in pointer.parents:
        if is_commit(folder.name) and folder.parent.name == "snapshots":
            place = folder.parents[1] / _FOLDER / folder.name / pointer.relative_to(folder)
            return place.with_name(f"{place.name}.sha256")  # nobody must take it for a model
    return None


def _local_metadata(path: Path) -> Iterator[Path]:
    for folder in path.parents:
        name = path.relative_to(folder).as_posix()
        yield folder / _LOCAL_FOLDER / f"{name}.metadata"


def _words(path: Path) -> list[str]:
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open(encoding="ascii") as file:
                return file.read(_MOST_BYTES).split()
    return []
