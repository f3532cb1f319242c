"""A model from the hub into the cache: chosen, fetched part by part, published last.

Promises that an interrupted pull leaves the old model usable and loses no byte it had.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nextok.backends.download import Listener
from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_files import Listing
from nextok.backends.hub_reference import HubReference
from nextok.backends.quant_choice import Choice
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


def plan_pull(
    reference: HubReference, *, hub: Hub, cache: HubCache, abort: Abort, memory_bytes: int | None
) -> Plan:
    """Ask the hub once and choose. Raises HubError, Ambiguous, Aborted."""
    raise NotImplementedError


def fetch(plan: Plan, *, hub: Hub, cache: HubCache, abort: Abort, progress: Listener) -> Pulled:
    """Carry it out. Raises HubError (DiskFull before the first byte), Aborted."""
    raise NotImplementedError


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
    plan = plan_pull(reference, hub=hub, cache=cache, abort=abort, memory_bytes=memory_bytes)
    return fetch(plan, hub=hub, cache=cache, abort=abort, progress=progress)
