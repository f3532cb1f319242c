"""Fetching a model: planned, agreed upon, watched on the terminal. Knows no commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.folders import state_folder
from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_errors import RepoNotFound
from nextok.backends.hub_files import HubFile
from nextok.backends.hub_reference import HubReference
from nextok.backends.intact_files import IntactFiles
from nextok.backends.local_models import did_you_mean, local_models, misspelt
from nextok.backends.locate import NotOnDisk
from nextok.backends.memory import available_bytes
from nextok.backends.patience import Questions
from nextok.backends.pull import Plan, Pulled, fetch, plan_pull
from nextok.backends.seen_files import SeenFiles
from nextok.cli.choices import print_choices
from nextok.cli.console import Console
from nextok.cli.download_display import DownloadDisplay
from nextok.cli.question import agreed, can_ask
from nextok.cli.settings import HubSettings, OutputSettings
from nextok.cli.status import Status
from nextok.cli.units import size
from nextok.cli.waiting_display import WaitingDisplay
from nextok.generation.abort import Abort
from nextok.generation.errors import HubError, UsageError


@dataclass(frozen=True, kw_only=True)
class Fetching:
    """Fetches for one run. All methods raise HubError, UsageError and Aborted."""

    hub: HubSettings
    output: OutputSettings
    console: Console
    status: Status
    abort: Abort

    def missing(self, missing: NotOnDisk) -> Pulled:
        """Fetch what a run needs and has not: after a question, unless the answer is known."""
        if Hub(offline=self.hub.offline).offline:
            meant = f": {missing.question}" if missing.question else ""
            raise HubError(
                f"{missing.reference} is not on disk, and offline nothing is fetched{meant}"
            )
        if not self.hub.pull and not can_ask(self.console):
            raise missing
        plan = self.plan(missing.reference)
        agreed_on = self.hub.pull or self.hub.yes or plan.path is not None
        if not agreed_on and not agreed(question(plan), self.console, default=True):
            raise missing
        return self.carry_out(plan)

    def whole(self, reference: HubReference) -> Pulled:
        """The model, every byte of it right: what is here is read again unless it was before."""
        intact = IntactFiles(seen=SeenFiles(state_folder()), reading=self._reading)
        plan = self.plan(reference, intact.has)
        for path in plan.damaged:
            self.console.warning(
                f"{path} here is damaged (other bytes than the hub lists): fetching it again"
            )
        pulled = self.carry_out(plan)
        intact.add(pulled.path)
        return pulled

    def plan(
        self,
        reference: HubReference,
        intact: Callable[[Path, HubFile], bool] = lambda path, file: True,
    ) -> Plan:
        """What would be fetched; the models to choose from are printed if that is open.

        intact: see `plan_pull`.
        """
        self.status.show(f"asking for {reference}")
        try:
            return plan_pull(
                reference,
                hub=Hub(offline=self.hub.offline),
                cache=HubCache(),
                questions=Questions(
                    abort=self.abort,
                    waiting=WaitingDisplay(str(reference), self.console, self.status),
                ),
                memory_bytes=available_bytes(),
                intact=intact,
            )
        except RepoNotFound as error:
            meant = did_you_mean(misspelt(str(reference), local_models()))
            raise RepoNotFound(f"{error}; {meant}" if meant else str(error)) from None
        except UsageError as error:
            self.status.clear()
            print_choices(error, self.output)
            raise
        finally:
            self.status.clear()

    def carry_out(self, plan: Plan) -> Pulled:
        """Fetch it, showing how far it is."""
        if plan.choice.fits is False:
            self.console.warning(
                f"{plan.reference} needs more memory than this machine has to spare: "
                "it will be slow, or not run"
            )
        display = DownloadDisplay(self.console, self.status, time.monotonic)
        try:
            return fetch(
                plan,
                hub=Hub(offline=self.hub.offline),
                cache=HubCache(),
                abort=self.abort,
                progress=display,
            )
        finally:
            self.status.clear()

    def _reading(self, file: HubFile, done: int) -> None:
        self.abort.check()
        self.status.show(f"checking {file.path}: {done / max(1, file.size):.0%}")


def question(plan: Plan) -> str:
    """What to ask before a download."""
    total = plan.choice.bytes
    here = total - plan.fetch_bytes
    rest = f"{size(plan.fetch_bytes)} of {size(total)}" if here > 0 else size(total)
    free = "" if plan.free_bytes is None else f" ({size(plan.free_bytes)} free)"
    return f"{plan.reference} is not on disk: fetch {rest}{free}?"
