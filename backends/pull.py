"""A model from the hub into the cache: chosen, fetched part by part, published last.

Promises that an interrupted pull leaves the old model usable and loses no byte it had.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.download import download
from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_errors import CacheNotWritable, DiskFull
from nextok.backends.hub_files import HubFile
from nextok.backends.hub_reference import HubReference
from nextok.backends.partial_file import is_whole
from nextok.backends.patience import Patience, Questions
from nextok.backends.pull_lock import locked
from nextok.backends.pull_plan import Plan, plan_pull, still_to_come
from nextok.backends.shown_text import shown
from nextok.backends.transfer_progress import Listener, Reporter, Stage
from nextok.generation.abort import Abort
from nextok.generation.errors import HubError

__all__ = ["Plan", "Pulled", "fetch", "plan_pull", "pull"]


@dataclass(frozen=True, kw_only=True)
class Pulled:
    """A model that is on disk now."""

    path: Path
    """What to open: the first part."""
    reference: HubReference
    commit: str
    bytes: int
    """Of the whole model."""
    fetched_bytes: int
    cached: bool
    """Nothing had to be fetched."""


def fetch(
    plan: Plan,
    *,
    hub: Hub,
    cache: HubCache,
    abort: Abort,
    progress: Listener,
    patience: Patience | None = None,
) -> Pulled:
    """Carry it out. Raises HubError (DiskFull before the first byte), Aborted."""
    if plan.free_bytes is not None and plan.fetch_bytes > plan.free_bytes:
        raise DiskFull(
            f"{plan.fetch_bytes:,} bytes to fetch, and {plan.free_bytes:,} free at"
            f" {shown(cache.root)}: make room (nextok prune, nextok rm), or set HF_HUB_CACHE"
        )
    count = 0
    for number, part in enumerate(plan.choice.parts, 1):
        if part.path not in plan.elsewhere:
            one = _OnePart(part, number, plan, hub, cache, abort, progress, patience)
            count += one.fetch()
    path = _publish(plan, cache)
    if not path.exists():
        raise HubError(f"{plan.reference}: removed while it was fetched: pull again")
    return Pulled(
        path=path,
        reference=plan.reference,
        commit=plan.listing.commit,
        bytes=plan.choice.bytes,
        fetched_bytes=count,
        cached=count == 0,
    )


def pull(
    reference: HubReference,
    *,
    hub: Hub,
    cache: HubCache,
    abort: Abort,
    progress: Listener,
    memory_bytes: int | None,
) -> Pulled:
    """Both in one, for who need not ask."""
    questions = Questions(abort=abort)
    plan = plan_pull(
        reference, hub=hub, cache=cache, questions=questions, memory_bytes=memory_bytes
    )
    return fetch(plan, hub=hub, cache=cache, abort=abort, progress=progress)


@dataclass(frozen=True)
class _OnePart:
    """One file on its way."""

    file: HubFile
    number: int
    plan: Plan
    hub: Hub
    cache: HubCache
    abort: Abort
    progress: Listener
    patience: Patience | None

    def fetch(self) -> int:
        """The bytes that had to come, under the lock of this content; 0 if it is here."""
        if self._copy() is not None and not self._damaged:
            return 0
        repo, etag = self.plan.listing.repo, self.file.etag or ""
        self.cache.prepare(repo, etag)
        report = Reporter(
            self.progress,
            time.monotonic,
            file=self.file.path,
            total=self.file.size,
            part=self.number,
            parts=len(self.plan.choice.parts),
        )
        partial = self.cache.partial(repo, etag)

        def waiting() -> None:
            report.done = partial.stat().st_size if partial.exists() else 0
            report.tell(Stage.WAITING, "another process is fetching it: waiting for that")

        with locked(self.cache.lock(repo, etag), self.abort, waiting):
            if self._is_here(report):  # the other process was done
                report.done = self.file.size
                report.tell(Stage.DONE)
                return 0
            count = still_to_come(self.file, repo, self.cache)
            self._download(partial)
            self.cache.settle(repo, etag)
            return count

    @property
    def _damaged(self) -> bool:
        return self.file.path in self.plan.damaged

    def _copy(self) -> Path | None:
        listing = self.plan.listing
        return self.cache.whole_copy(listing.repo, listing.commit, self.file)

    def _is_here(self, report: Reporter) -> bool:
        """Whether there is a copy; one that was damaged is read again to see."""

        def reading(done: int) -> None:
            self.abort.check()
            report.done = done
            report.tell(Stage.CHECKING)

        copy = self._copy()
        return copy is not None and (not self._damaged or is_whole(copy, self.file, reading))

    def _download(self, partial: Path) -> None:
        download(
            self.file,
            partial,
            hub=self.hub,
            repo=self.plan.listing.repo,
            commit=self.plan.listing.commit,
            abort=self.abort,
            progress=self.progress,
            part=self.number,
            parts=len(self.plan.choice.parts),
            patience=self.patience,
        )


def _publish(plan: Plan, cache: HubCache) -> Path:
    """A cache that cannot be written is no fault where all names are there already."""
    listing = plan.listing
    files = [(part, plan.elsewhere.get(part.path)) for part in plan.choice.parts]
    try:
        return cache.publish(listing.repo, listing.commit, listing.revision, files)
    except CacheNotWritable:
        if plan.path is None:
            raise
        return plan.path
