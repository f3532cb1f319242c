"""What the command line gives an experiment: models, its settings, progress, and words about time.

Opens each model once and frees all of them at the end. Knows no experiment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.memory import available_bytes
from nextok.backends.options import CONTEXT_STEP
from nextok.backends.split_files import part_paths
from nextok.backends.threads import allowed_cpus
from nextok.cli.console import Console
from nextok.cli.finding import Surroundings
from nextok.cli.lab_progress import ShownProgress
from nextok.cli.loaded import Loaded, Loader
from nextok.cli.oneshot import drawn
from nextok.cli.resolution import BUILT_IN, Resolved
from nextok.cli.status import Status
from nextok.cli.stdout import Stdout
from nextok.cli.units import duration, size
from nextok.generation.abort import Abort
from nextok.lab.estimate import Work, measure
from nextok.lab.subject import Subject

Settings = TypeVar("Settings")

SEED = 1
"""Of everything drawn, unless another is asked for: the same command finds the same."""
_LONG = 300.0
"""Seconds: of what takes longer, a log is told too."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Everything around the experiments of one run."""

    resolved: Resolved
    console: Console
    status: Status
    stdout: Stdout
    abort: Abort
    clock: Callable[[], float]
    around_fetching: Surroundings
    free_bytes: Callable[[], int | None] = available_bytes
    """Of memory; None where the system does not say."""
    _opened: dict[str | None, Subject] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """Of all that is drawn."""
        return self._seeded.sampling.seed

    def settings(self, group: type[Settings]) -> Settings:
        """A group of `nextok.cli.lab_settings`, filled."""
        names = cast(Any, group)._fields
        return group(**{name: self.resolved.value(name) for name in names})

    def subject(self, reference: str | None = None) -> Subject:
        """The model of -m, or the one of that name or file; each is opened once.

        Raises UsageError, ModelError, HubError, EngineError, Aborted.
        """
        if reference not in self._opened:
            self._opened[reference] = self._open(reference)
        return self._opened[reference]

    @property
    def chosen(self) -> str | None:
        """The name of the model that was opened because no other was asked for."""
        return self._opened[None].name if None in self._opened else None

    def announce(self, subject: Subject, work: Work) -> None:
        """Say how long that will take, as a short run of the model tells. Raises like a run.

        ContextError first, if the context is too small for it.
        """
        subject.check_context(work.context_tokens)
        self.announce_seconds(measure(subject).seconds(work))

    def announce_seconds(self, seconds: float) -> None:
        """Say that it will take about so long."""
        text = f"this will take about {duration(seconds)} here"
        if seconds > _LONG:
            self.console.warning(f"{text}: a smaller -n or a smaller model makes it shorter")
        else:
            self.console.note(text)

    def say(self, text: str) -> None:
        """Show whole lines on standard output while an experiment runs."""
        self.status.clear()
        self.stdout.text(text)

    def progress(self, name: str) -> ShownProgress:
        """Of the experiment of that name, from now on."""
        self.status.begin()
        return ShownProgress(name, self.status, self.abort, self.clock)

    def close(self) -> None:
        """Free all models."""
        while self._opened:
            self._opened.popitem()[1].weights.close()

    @property
    def _seeded(self) -> Resolved:
        if self.resolved.origin("seed") != BUILT_IN:
            return self.resolved
        return self.resolved.with_set({"seed": SEED})

    def _open(self, reference: str | None) -> Subject:
        resolved = self._seeded
        if reference is not None:
            resolved = resolved.with_set({"model": reference})
        loader = Loader(
            resolved=resolved,
            abort=self.abort,
            console=self.console,
            status=self.status,
            clock=self.clock,
            around_fetching=self.around_fetching,
            cpus=FreeCpus(allowed_cpus()),
        )
        path = loader.find()
        if resolved.engine.model is None and path is not None:
            self.console.note(f"studying {path.stem}; -m names another model")
        self._check_size(path)
        loaded = loader.settled(path, loader.open(path), self.clock())
        return self._subject(loaded, path)

    def _subject(self, loaded: Loaded, path: Path | None) -> Subject:
        return Subject(
            weights=loaded.weights,
            path=path,
            options=loaded.context_options(context_size=CONTEXT_STEP),
            sampling=drawn(loaded.resolved, loaded.weights),
            context_limit=loaded.context_limit,
            abort=self.abort,
            clock=self.clock,
            exact=loaded.exact,
        )

    def _check_size(self, path: Path | None) -> None:
        """Say it of a model that memory cannot hold: every token will wait for the disk."""
        free = self.free_bytes()
        if path is None or free is None:
            return
        taken = sum(part.stat().st_size for part in part_paths(path) if part.exists())
        if taken > free:
            self.console.warning(
                f"{path.name} has {size(taken)} and {size(free)} of memory are free: each token "
                "will wait for the disk (nextok pull REF:QUANT fetches a smaller file)"
            )
