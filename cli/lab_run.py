"""Experiments one after the other: run, shown and written; what is done, when a signal ends it."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from nextok.cli.answer import json_text
from nextok.cli.deadlines import Deadlines
from nextok.cli.ending import leave
from nextok.cli.exit_codes import ANSWERED, code_of
from nextok.cli.invocation import Invocation
from nextok.cli.lab_bench import Bench
from nextok.cli.lab_command import command_line
from nextok.cli.lab_experiments import Experiment
from nextok.cli.lab_folder import LabFolder
from nextok.cli.lab_screen import found_lines, room_of
from nextok.cli.lab_settings import LabSettings
from nextok.cli.oneshot import drawn_seed
from nextok.cli.resolution import BUILT_IN, Resolved
from nextok.cli.status import Status
from nextok.cli.stdout import ReaderGone, Stdout
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import NextokError
from nextok.generation.finish import FinishReason
from nextok.lab.findings import Findings
from nextok.lab.findings_text import as_object

_GRACE = 5.0
"""Seconds an experiment has to come back with what is done."""

ExperimentFunction: TypeAlias = Callable[[Bench], Findings]


class LabRun:
    """Some experiments, each with its own findings; what one failed with does not end the rest."""

    def __init__(self, invocation: Invocation, experiments: Sequence[Experiment]) -> None:
        """Raises UsageError and OutputError for a folder that cannot be written."""
        self._console = invocation.console
        self._environ = invocation.environ
        self._resolved = resolved = _seeded(invocation.resolved)
        self._experiments = experiments
        self._abort = Abort()
        self._status = Status(self._console, time.monotonic)
        self._stdout = Stdout(clock=time.monotonic, encoding=sys.stdout.encoding or "utf-8")
        self._watcher = Watcher(
            self._abort,
            Deadlines(),
            started=invocation.start.at,
            clock=time.monotonic,
            last_words=lambda reason: self._status.close(),
            grace=_GRACE,
        )
        self._bench = Bench(
            resolved=resolved,
            console=self._console,
            status=self._status,
            stdout=self._stdout,
            abort=self._abort,
            clock=time.monotonic,
            around_fetching=self._watcher.excused,
        )
        folder = self._bench.settings(LabSettings).lab_folder
        self._folder = None if folder is None else LabFolder(folder)
        self._found: list[Findings] = []
        self._errors: dict[str, NextokError] = {}

    def run(self) -> int:
        """All of them; the exit code. Ends the process where something from outside did."""
        if self._folder is not None:
            for one in self._experiments:
                self._folder.check(one.name)
        self._watcher.start()
        try:
            for one in self._experiments:
                self._try(one)
                if self._abort.reason is not None:
                    break
        except ReaderGone:
            self._abort.trip(FinishReason.DISCONNECTED)
        finally:
            self._status.clear()
            self._watcher.stop()
        return self._end()

    def _try(self, experiment: Experiment) -> None:
        function: ExperimentFunction = importlib.import_module(experiment.module).run
        try:
            found = function(self._bench)
        except Aborted:
            return
        except NextokError as error:
            if len(self._experiments) == 1:
                raise
            self._status.clear()
            self._console.error(f"lab {experiment.name}: {error}")
            self._errors[experiment.name] = error
            return
        self._status.clear()
        command = command_line(experiment, self._resolved, self._model(found))
        self._found.append(replace(found, command=command))
        if self._abort.reason is None:
            self._deliver(self._found[-1])

    def _model(self, found: Findings) -> str:
        """What -m is to be to study the same: what it was, or the name of what was chosen."""
        asked = self._resolved.engine.model
        return (asked or self._bench.chosen or "") if found.model else ""

    def _deliver(self, found: Findings) -> None:
        """Show it, and write it."""
        if not self._resolved.output.json:
            room = room_of(self._resolved.output.color, self._environ)
            lines = found_lines(found, room)
            text = "".join(f"{line}\n" for line in lines)
            self._stdout.drawn(text) if room else self._stdout.text(text)
        if self._folder is not None:
            names = self._folder.write(found)
            self._console.note(f"wrote {', '.join(names)}")

    def _end(self) -> int:
        """What is left to say when no signal is waited for any more: the next one is deadly."""
        reason = self._abort.reason
        if reason is not FinishReason.DISCONNECTED:
            self._say_the_rest(cut=reason is not None)
        if reason is not None:
            leave(reason, self._watcher.signal_number)
        self._bench.close()
        return next(map(code_of, self._errors.values()), ANSWERED)

    def _say_the_rest(self, *, cut: bool) -> None:
        if cut and self._found and not self._found[-1].complete:
            self._deliver(self._found[-1])
        if cut and not self._found:
            self._console.note("stopped before there was anything to show")
        if self._resolved.output.json and self._found:
            self._stdout.line(json_text(self._as_object()))
        if self._folder is not None and len(self._experiments) > 1 and self._found:
            failures = {name: str(error) for name, error in self._errors.items()}
            self._console.note(f"wrote {self._folder.write_page(failures)}")

    def _as_object(self) -> dict[str, object]:
        objects = [as_object(one) for one in self._found]
        return objects[0] if len(self._experiments) == 1 else {"experiments": objects}


def _seeded(resolved: Resolved) -> Resolved:
    """Any seed, where that was asked for: all experiments have it, and commands name it."""
    if resolved.origin("seed") == BUILT_IN or resolved.sampling.seed >= 0:
        return resolved
    return resolved.with_set({"seed": drawn_seed()})
