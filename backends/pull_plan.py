"""What a pull would do, found out with one question to the hub, asked as often as it takes.

Promises to write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.hub_names import is_sha256
from nextok.backends.hub_reference import HubReference
from nextok.backends.partial_file import free_bytes
from nextok.backends.patience import Questions
from nextok.backends.quant_choice import Choice, choose
from nextok.generation.abort import Abort


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a pull would do: enough to ask the user."""

    reference: HubReference
    """With the quant that was chosen."""
    listing: Listing
    choice: Choice
    fetch_bytes: int
    """Still to come: what is on disk, whole or in part, is not counted."""
    free_bytes: int | None
    """On the cache's disk; None when it does not say."""
    path: Path | None
    """The model, when all of it is on disk already."""
    elsewhere: Mapping[str, Path]
    """Parts that another commit has too, by their path in the repository."""
    damaged: Collection[str] = ()
    """Parts that are here with other bytes than the hub lists: to be fetched again."""


def plan_pull(
    reference: HubReference,
    *,
    hub: Hub,
    cache: HubCache,
    questions: Questions,
    memory_bytes: int | None,
    free: Callable[[Path], int | None] = free_bytes,
    intact: Callable[[Path, HubFile], bool] = lambda path, file: True,
) -> Plan:
    """Ask the hub once and choose. Raises HubError, Ambiguous, Aborted.

    intact: of a file here that has the right size, whether it has the right bytes.
    """
    listing = questions.ask(lambda: hub.list_files(reference))
    choice = choose(listing, reference, memory_bytes)
    repo, commit = listing.repo, listing.commit
    parts = tuple(_with_hash(part, listing, hub, questions) for part in choice.parts)
    copies = {part.path: cache.whole_copy(repo, commit, part) for part in parts}
    here = {part.path: intact(copy, part) for part in parts if (copy := copies[part.path])}
    damaged = [path for path, sound in here.items() if not sound]
    missing = [part for part in parts if not here.get(part.path)]
    if missing and listing.gated:  # refused now, and not after the user agreed to the size
        questions.ask(lambda: hub.locate_file(repo, commit, missing[0].path))
    absent = [part for part in missing if part.path not in damaged]
    elsewhere = _elsewhere(absent, repo, cache, questions.abort)
    fetched = [part for part in missing if part.path not in elsewhere]
    named = reference if reference.file or not choice.quant else _named(reference, choice.quant)
    return Plan(
        reference=named,
        listing=listing,
        choice=replace(choice, parts=parts),
        fetch_bytes=sum(still_to_come(part, repo, cache) for part in fetched),
        free_bytes=free(cache.root),
        path=None if damaged else _complete(parts, listing, cache),
        elsewhere=elsewhere,
        damaged=damaged,
    )


def _with_hash(part: HubFile, listing: Listing, hub: Hub, questions: Questions) -> HubFile:
    """Mirrors list files without their hashes; the file's own address has it."""
    if part.etag is not None:
        return part
    remote = questions.ask(lambda: hub.locate_file(listing.repo, listing.commit, part.path))
    is_large = is_sha256(remote.etag)
    return HubFile(
        path=part.path,
        size=part.size if remote.size is None else remote.size,
        sha256=remote.etag if is_large else None,
        git_sha1=None if is_large else remote.etag,
    )


def _elsewhere(
    parts: Sequence[HubFile], repo: str, cache: HubCache, abort: Abort
) -> dict[str, Path]:
    """Those that are in another snapshot, by their path in the repository."""
    found = {
        part.path: cache.same_elsewhere(repo, part, lambda done: abort.check()) for part in parts
    }
    return {path: same for path, same in found.items() if same is not None}


def still_to_come(part: HubFile, repo: str, cache: HubCache) -> int:
    partial = cache.partial(repo, part.etag or "")
    there = partial.stat().st_size if partial.exists() else 0
    return part.size - there if there <= part.size else part.size


def _complete(parts: tuple[HubFile, ...], listing: Listing, cache: HubCache) -> Path | None:
    """The first part, if all have their names at this commit."""
    paths = [cache.pointer(listing.repo, listing.commit, part.path) for part in parts]
    sizes = [path.stat().st_size if path.exists() else None for path in paths]
    return paths[0] if sizes == [part.size for part in parts] else None


def _named(reference: HubReference, quant: str) -> HubReference:
    return replace(reference, quant=reference.quant or quant)
