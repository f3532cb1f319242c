"""One file, fetched so that nothing is lost: resumed, checked while it streams, tried again.

Promises a whole file with the right hash, or an error with what came so far kept. Knows nothing
of repositories' layouts on disk: it is given the path that grows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nextok.backends.feed import Feed
from nextok.backends.hub import Hub
from nextok.backends.hub_errors import NoNetwork, Passing, WrongBytes
from nextok.backends.hub_files import Body, HubFile
from nextok.backends.partial_file import PartialFile, no_model
from nextok.backends.patience import Patience, rest
from nextok.backends.shown_text import shown
from nextok.backends.transfer_progress import Listener, Progress, Reporter, Stage
from nextok.generation.abort import Abort

__all__ = ["Listener", "Progress", "Stage", "download"]

PIECE_BYTES = 40_000_000_000
"""Of a larger file so much is asked for at a time: the hub's storage serves no more at once."""


def download(
    file: HubFile,
    partial: Path,
    *,
    hub: Hub,
    repo: str,
    commit: str,
    abort: Abort,
    progress: Listener,
    part: int = 1,
    parts: int = 1,
    patience: Patience | None = None,
    piece_bytes: int = PIECE_BYTES,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Grow `partial` into the whole file, from whatever it holds.

    part, parts: for the progress. Raises HubError, Aborted; `file` must have an etag.
    """
    report = Reporter(progress, clock, file=file.path, total=file.size, part=part, parts=parts)
    transfer = _Transfer(
        file, hub, repo, commit, abort, report, patience or Patience(), piece_bytes
    )
    with PartialFile(partial, file) as growing:
        transfer.take_up(growing)
        transfer.complete(growing)
        if not growing.is_right() and report.resumed:
            growing.restart()  # what the earlier run left may have been at fault
            transfer.complete(growing)
        if not growing.is_right():
            partial.unlink()
            raise WrongBytes(
                f"{shown(file.path)}: other bytes came than the hub lists (sha256), and were"
                " dropped: pull again; if it stays so, the server or a proxy damages them"
            )
        growing.settle()
    report.tell(Stage.DONE)


class _Transfer:
    """What stays the same over all attempts."""

    def __init__(
        self,
        file: HubFile,
        hub: Hub,
        repo: str,
        commit: str,
        abort: Abort,
        report: Reporter,
        patience: Patience,
        piece_bytes: int,
    ) -> None:
        self._file, self._hub, self._repo, self._commit = file, hub, repo, commit
        self._abort, self._report, self._patience = abort, report, patience
        self._piece_bytes = piece_bytes
        self._most = 0
        """Bytes there at the best of times: only more than this is progress."""

    def take_up(self, growing: PartialFile) -> None:
        """Read again what an earlier run left."""

        def read(size: int) -> None:
            self._abort.check()
            self._report.done = size
            self._report.tell(Stage.CHECKING)

        growing.take_up(read)
        self._report.resumed = self._most = growing.size

    def complete(self, growing: PartialFile) -> None:
        """Attempt after attempt until all bytes are there."""
        tries = 0
        self._most = growing.size
        while growing.size < self._file.size:
            self._report.attempt = tries + 1
            try:
                self._attempt(growing)
            except Passing as error:
                tries = 1 if growing.size > self._most else tries + 1
                self._retry_later(error, tries)
            self._most = max(self._most, growing.size)

    def _attempt(self, growing: PartialFile) -> None:
        """One request for the rest, or for a piece of it."""
        report, start = self._report, growing.size
        report.begin(start)
        report.tell(Stage.FETCHING)
        source = Feed(lambda: self._source(start))
        for item in source.items(self._abort, lambda: report.tell(Stage.FETCHING)):
            if isinstance(item, bytes):
                growing.append(item)
                report.add(len(item))
            elif item.start < start:
                growing.restart()
                report.resumed = 0
                report.begin(0)
        if growing.size < self._end(start):
            raise NoNetwork("the server ended the file too early", "try again later")

    def _source(self, start: int) -> Iterator[Body | bytes]:
        """The answer and then its bytes; runs in another thread."""
        remote = self._hub.locate_file(self._repo, self._commit, self._file.path)
        if remote.etag != self._file.etag or remote.size not in (None, self._file.size):
            raise WrongBytes(f"{shown(self._file.path)}: the hub has changed it: pull again")
        whole = self._end(start) == self._file.size
        with self._hub.open(remote, start, None if whole else self._end(start)) as body:
            if body.total not in (None, self._file.size):
                raise WrongBytes(f"{shown(self._file.path)}: {self._other_size(body)}")
            yield body
            yield from body.chunks

    def _other_size(self, body: Body) -> str:
        """What a file of another size is."""
        head = next(body.chunks, b"")
        if body.start == 0 and self._file.path.lower().endswith(".gguf") and head[:4] != b"GGUF":
            return no_model(head)
        listed = f"the hub lists {self._file.size:,}"
        return f"the server has {body.total:,} bytes, {listed}: pull again later"

    def _end(self, start: int) -> int:
        """Where the piece from `start` on ends."""
        return min(self._file.size, start + self._piece_bytes)

    def _retry_later(self, error: Passing, tries: int) -> None:
        wait = self._patience.wait_after(error, tries)
        if wait is None:
            raise error.after(tries) from None
        self._report.attempt = tries + 1
        rest(wait, self._abort, lambda left: self._report.tell(Stage.RETRYING, error.what, left))
