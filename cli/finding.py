"""The file of the model that is meant; one that is not on disk is fetched, if that is wanted.

Imports nothing of the hub for a model that is on disk: that is most runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from nextok.backends.locate import Located, NotOnDisk, look_up
from nextok.cli.console import Console
from nextok.cli.invocation import Invocation
from nextok.cli.resolution import Resolved
from nextok.cli.status import Status
from nextok.generation.abort import Abort
from nextok.generation.errors import UsageError

Surroundings: TypeAlias = Callable[[], AbstractContextManager[None]]
"""What a download happens in: something that watches for signals."""


class Finder(NamedTuple):
    """Finds models for one run."""

    resolved: Resolved
    console: Console
    status: Status
    abort: Abort
    around_fetching: Surroundings

    def find(self, reference: str | None) -> Path | None:
        """The file; None is the toy. Raises UsageError, ModelError, HubError, Aborted."""
        located = self._located(reference)
        if located.guessed is not None:
            self.console.note(f"{reference} is {located.guessed}")
        return located.path

    def _located(self, reference: str | None) -> Located:
        try:
            return look_up(reference, self.resolved.config.aliases)
        except NotOnDisk as missing:
            return Located(path=self._fetched(missing))
        except UsageError as error:
            from nextok.cli.choices import print_choices

            print_choices(error, self.resolved.output)
            raise

    def _fetched(self, missing: NotOnDisk) -> Path:
        from nextok.cli.fetching import Fetching

        with self.around_fetching():
            fetching = Fetching(
                hub=self.resolved.hub,
                output=self.resolved.output,
                console=self.console,
                status=self.status,
                abort=self.abort,
            )
            return fetching.missing(missing).path


def find_model(reference: str | None, invocation: Invocation) -> Path | None:
    """The same for a command that watches for nothing else."""
    from nextok.cli.watching import watching

    abort, status = Abort(), Status(invocation.console, time.monotonic)
    finder = Finder(
        resolved=invocation.resolved,
        console=invocation.console,
        status=status,
        abort=abort,
        around_fetching=lambda: watching(abort, status),
    )
    return finder.find(reference)
