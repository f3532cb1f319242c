"""`nextok bench`: how fast a model reads and writes here, and what that takes.

An interrupt ends the measuring, not the report: what was measured until then is shown.
"""

from __future__ import annotations

import sys
import time
from shutil import get_terminal_size

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.process_memory import peak_resident_bytes
from nextok.backends.threads import allowed_cpus
from nextok.cli.answer import json_text
from nextok.cli.bench_models import Benched, Shelf, references
from nextok.cli.bench_progress import BenchProgress
from nextok.cli.bench_report import (
    DONE,
    FAILED,
    INTERRUPTED,
    ModelFacts,
    Reported,
    as_json,
    as_rows,
)
from nextok.cli.bench_settings import BenchSettings
from nextok.cli.console import is_terminal, use_color
from nextok.cli.deadlines import Deadlines
from nextok.cli.exit_codes import ANSWERED, DISCONNECTED, SIGNALLED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.status import Status
from nextok.cli.table import print_table
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import NextokError
from nextok.generation.finish import FinishReason
from nextok.lab.bench_figures import figures
from nextok.lab.bench_plan import Plan
from nextok.lab.bench_run import Sample, run

NARROWEST = 60
"""Columns of a terminal: in fewer there are only names and values."""
_GRACE = 3.0
"""Seconds that an engine may take to come back when it is interrupted, lest all is lost."""


def bench(invocation: Invocation) -> int:
    """Measure, and print a page, lines of names and values in a pipe, or one JSON object."""
    return _Benchmark(invocation).run()


class _Benchmark:
    """One benchmark from the models to the report."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._asked: BenchSettings = invocation.resolved.bench
        self._abort = Abort()
        self._status = Status(invocation.console, time.monotonic)
        # Who gives way to us disturbs, too: caches and memory are shared.
        self._cpus = FreeCpus(allowed_cpus(), niceness=lambda: 1)
        self._watcher = Watcher(
            self._abort,
            Deadlines(),
            started=invocation.start.at,
            clock=time.monotonic,
            last_words=lambda reason: self._status.close(),
            grace=_GRACE,
        )
        self._shelf = Shelf(
            resolved=invocation.resolved,
            abort=self._abort,
            console=invocation.console,
            status=self._status,
            clock=time.monotonic,
            around_fetching=self._watcher.excused,
            cpus=FreeCpus(allowed_cpus()),
        )
        self._plan: Plan | None = None
        self._samples: list[Sample] = []

    def run(self) -> int:
        asked = references(
            self._invocation.words, self._invocation.resolved, compare=self._asked.compare
        )  # fmt: skip
        error: NextokError | None = None
        self._watcher.start()
        try:
            self._measure(asked)
        except Aborted:
            pass
        except NextokError as failure:
            error = failure
        finally:
            self._status.clear()
            self._watcher.stop()
        return self._end(error)

    def _measure(self, asked: list[str | None]) -> None:
        for reference in asked:
            self._shelf.load(reference)
        plan = self._plan = self._shelf.plan(self._asked)
        benches = self._shelf.open(plan)
        names = [one.loaded.weights.name for one in self._shelf.models]
        what = names[0] if len(names) == 1 else "two models"
        self._invocation.console.note(f"measuring {what}; Ctrl-C shows what is done by then")
        self._cpus.look()
        display = BenchProgress(plan, self._status, time.monotonic)
        with display.ticking():
            for sample in run(plan, benches, clock=time.monotonic, listener=display):
                self._samples.append(sample)

    def _end(self, error: NextokError | None) -> int:
        reason, number = self._abort.reason, self._watcher.signal_number
        if reason is FinishReason.DISCONNECTED:
            return DISCONNECTED
        if self._plan is not None and self._samples and not (error and self._wants_json):
            ended = FAILED if error else DONE if reason is None else INTERRUPTED
            self._show(self._reported(self._plan, ended))
        if error is not None:
            raise error
        if reason is not None:
            return SIGNALLED + number  # the kernel frees faster than we do
        self._shelf.close()
        return ANSWERED

    def _reported(self, plan: Plan, ended: str) -> Reported:
        usable, free = len(allowed_cpus()), self._cpus.look()
        return Reported(
            plan=plan,
            figures=figures(plan, self._samples),
            models=[_facts(one) for one in self._shelf.models],
            options=self._shelf.options(self._shelf.models[0], plan),
            ended=ended,
            peak_resident=peak_resident_bytes(),
            cpus=usable,
            others=None if free is None else usable - free,
        )

    @property
    def _wants_json(self) -> bool:
        """A failure is then an object, too, and there is only one."""
        return self._invocation.resolved.output.json

    def _show(self, reported: Reported) -> None:
        output, columns = self._invocation.resolved.output, get_terminal_size().columns
        if self._wants_json:
            plain_stdout().line(json_text(as_json(reported)))
        elif is_terminal(sys.stdout) and columns >= NARROWEST:
            from nextok.cli.bench_screen import page

            color = use_color(output.color, terminal=True, environ=self._invocation.environ)
            plain_stdout().drawn(page(reported, columns=columns, color=color))
        else:
            print_table(as_rows(reported), self._invocation)


def _facts(one: Benched) -> ModelFacts:
    weights = one.loaded.weights
    return ModelFacts(
        name=weights.name,
        quantization=weights.quantization,
        weights=weights.weight_bytes,
        kv_cache=one.kv_cache,
        resident=one.resident,
        load_seconds=one.load_seconds,
    )
