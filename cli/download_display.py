"""What a download says while it runs: one line a file that moves, or a few plain ones in a log.

A line is replaced only on a terminal that can; in a log there are a start, three shares, an end
and what went wrong in between. With -q there is nothing. Knows no network and no files.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from nextok.backends.download import Progress, Stage
from nextok.cli.console import Console, one_line
from nextok.cli.download_line import download_line
from nextok.cli.status import Status
from nextok.cli.units import duration, size

_PERIOD = 0.1
"""Seconds between two drawings of the line."""
_SHARES = 4
"""A log hears of every fourth of a file."""


class DownloadDisplay:
    """A listener of one pull, for all its files one after the other."""

    def __init__(self, console: Console, status: Status, clock: Callable[[], float]) -> None:
        self._console = console
        self._status = status
        self._clock = clock
        self._file = ""
        self._began: float | None = None
        self._share = 0
        self._notice: str | None = None
        self._next_drawing = 0.0

    def __call__(self, progress: Progress) -> None:
        """Say what has to be said of this moment."""
        if self._console.quiet:
            return
        if progress.file != self._file:
            self._file, self._began, self._share, self._notice = progress.file, None, 0, None
        if progress.stage is Stage.DONE:
            self._end(progress)
        elif self._console.redraws:
            self._draw(progress)
        else:
            self._log(progress)
        if progress.stage is Stage.FETCHING and self._began is None:
            self._began = self._clock()

    def _draw(self, progress: Progress) -> None:
        now = self._clock()
        if now >= self._next_drawing:
            self._next_drawing = now + _PERIOD
            self._status.draw(download_line(progress), styled=True)

    def _log(self, progress: Progress) -> None:
        name = title(progress)
        if progress.stage is Stage.FETCHING:
            self._notice = None
            if self._began is None:
                self._share = _share(progress)
                self._console.plain(f"nextok: {_beginning(name, progress)}")
            elif _share(progress) > self._share and progress.done < progress.total:
                self._share = _share(progress)
                percent = self._share * 100 // _SHARES
                self._console.plain(f"nextok: {name}: {percent}% of {size(progress.total)}")
        elif progress.notice and progress.notice != self._notice:
            self._notice = progress.notice
            self._console.plain(f"nextok: {name}: {trouble(progress)}")

    def _end(self, progress: Progress) -> None:
        self._status.clear()
        if self._began is None:
            return  # it was here already
        seconds = self._clock() - self._began
        fetched = progress.done - progress.resumed
        pace = f", {size(round(fetched / seconds))}/s" if seconds >= 1 else ""
        took = f"{size(progress.total)} in {duration(seconds)}{pace}"
        self._console.plain(f"nextok: fetched {title(progress)}: {took}")


def title(progress: Progress) -> str:
    """The file's name, and which part it is of a model in several."""
    name = one_line(posixpath.basename(progress.file))
    return f"{name} ({progress.part} of {progress.parts})" if progress.parts > 1 else name


def trouble(progress: Progress) -> str:
    """What holds it up, and for how long."""
    notice = one_line(progress.notice or "waiting")
    if progress.stage is Stage.RETRYING:
        return f"{notice}; next attempt in {duration(progress.retry_seconds)}"
    return notice


def _beginning(name: str, progress: Progress) -> str:
    if not progress.resumed:
        return f"fetching {name}: {size(progress.total)}"
    done, total = size(progress.resumed), size(progress.total)
    return f"fetching {name}: {total}, of which {done} are here from an earlier run"


def _share(progress: Progress) -> int:
    return progress.done * _SHARES // progress.total if progress.total else 0
