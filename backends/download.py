"""One file, fetched so that nothing is lost: resumed, checked while it streams, tried again.

Promises a whole file with the right sha256, or an error with what came so far kept. Knows nothing
of repositories' layouts on disk: it is given the path that grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from nextok.backends.hub import Hub
from nextok.backends.hub_files import HubFile
from nextok.generation.abort import Abort


class Stage(Enum):
    """What is being done for a file at the moment."""

    WAITING = "waiting"
    """Another process is fetching the same file."""
    CHECKING = "checking"
    """What an earlier run left, or a copy already here, is being read again."""
    FETCHING = "fetching"
    RETRYING = "retrying"
    """After trouble; `notice` says which, `retry_seconds` when."""
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far one file is. Comes at least four times a second while something is awaited."""

    file: str
    """Its path in the repository."""
    part: int
    parts: int
    """Which file of how many, from 1."""
    stage: Stage
    done: int
    total: int
    """Bytes."""
    resumed: int
    """Of `done`, the bytes an earlier run brought."""
    rate: float | None
    """Bytes a second over the last seconds; None at first."""
    seconds_left: float | None
    idle_seconds: float
    """Since the last byte came."""
    retry_seconds: float
    """Until the next attempt, in RETRYING."""
    attempt: int
    """Of the present piece, from 1: starts again whenever bytes come."""
    notice: str | None
    """One line for the user, without secrets: the trouble, or whom it waits for."""


Listener = Callable[[Progress], None]


def download(
    file: HubFile,
    partial: Path,
    *,
    hub: Hub,
    repo: str,
    commit: str,
    abort: Abort,
    progress: Listener,
) -> str:
    """Grow `partial` into the whole file, from whatever it holds; return its etag.

    Raises HubError, Aborted.
    """
    raise NotImplementedError
