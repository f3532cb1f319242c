"""`nextok batch`: many prompts answered together, a line of JSON each."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.threads import allowed_cpus
from nextok.cli.batch_input import BatchInput
from nextok.cli.batch_lines import Line
from nextok.cli.batch_results import Results
from nextok.cli.batch_resume import Conditions, Done, opened_results
from nextok.cli.deadlines import Deadlines
from nextok.cli.ending import leave
from nextok.cli.exit_codes import ANSWERED, CONTEXT, FAILED, TIMED_OUT
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import Loaded, Loader, warn_beyond_training
from nextok.cli.prompting import check_agreement, named_template
from nextok.cli.status import Status
from nextok.cli.stdout import ReaderGone, Stdout
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort, Aborted
from nextok.generation.finish import FinishReason

# What comes after the load is imported then.
if TYPE_CHECKING:
    from nextok.cli.batch_guesses import BatchGuesses
    from nextok.cli.batch_plan import Plan
    from nextok.cli.batch_prompts import Prepared
    from nextok.cli.batch_run import BatchRun

_LATE = (FinishReason.TIMEOUT, FinishReason.STALLED)


def batch(invocation: Invocation) -> int:
    """Answer all lines; the exit code. Endings from outside may end the process instead."""
    return _Batch(invocation).run()


class _Batch:
    """Everything around the run: what goes in, where results go, what may end it."""

    def __init__(self, invocation: Invocation) -> None:
        """UsageError where no prompts are named."""
        self._invocation = invocation
        self._settings = invocation.resolved.batch
        self._console = invocation.console
        self._stdout = Stdout(clock=time.monotonic, encoding=sys.stdout.encoding or "utf-8")
        self._abort = Abort()
        self._status = Status(self._console, time.monotonic)
        self._input = BatchInput(invocation, self._status, self._abort)
        self._model: Path | None = None
        self._run: BatchRun | None = None
        self._watcher = Watcher(
            self._abort,
            Deadlines(stall=invocation.resolved.stops.stall_timeout),
            started=invocation.start.at,
            clock=time.monotonic,
            last_words=lambda reason: self._status.close(),
        )

    def run(self) -> int:
        self._watcher.start()
        try:
            self._answer()
        except ReaderGone:
            self._abort.trip(FinishReason.DISCONNECTED)
        except Aborted:
            self._watcher.came_back()
        finally:
            self._status.clear()
            self._watcher.stop()
        return self._end()

    def _answer(self) -> None:
        prompt = self._invocation.resolved.prompt
        check_agreement(prompt)
        template = named_template(prompt.chat_template)
        lines = list(self._input.lines())
        done = self._resumed()
        missing = self._missing(lines, done)
        if not lines:
            return
        loaded = self._loaded(vocabulary_only=not missing)
        if done is not None:
            conditions = Conditions(loaded, template)
            for line in filter(done.has, lines):
                done.check(line, conditions)
        prepared = list(self._input.prepared(missing, loaded, template))
        if not prepared:
            return
        results = Results(self._stdout.line, ordered=self._settings.ordered)
        self._run = self._begun(loaded, prepared, results)
        try:
            self._run.run()
        finally:
            if self._abort.reason is not FinishReason.DISCONNECTED:
                results.flush()

    # -- what is there already

    def _resumed(self) -> Done | None:
        """What the file of results holds, into which the others will go."""
        name = self._settings.results
        if name is None:
            return None
        descriptor, done = opened_results(name, self._input.name)
        self._stdout = Stdout(clock=time.monotonic, encoding="utf-8", descriptor=descriptor)
        return done

    def _missing(self, lines: list[Line], done: Done | None) -> Sequence[Line]:
        """Those without a result."""
        if done is None:
            return lines
        done.check_lines(lines)
        missing = [line for line in lines if not done.has(line)]
        self._console.note(f"{len(lines) - len(missing)} of {len(lines)} lines are in {done.name}")
        return missing

    # -- the model

    def _loaded(self, *, vocabulary_only: bool) -> Loaded:
        loader = Loader(
            resolved=self._invocation.resolved,
            abort=self._abort,
            console=self._console,
            status=self._status,
            clock=time.monotonic,
            around_fetching=self._watcher.excused,
            cpus=FreeCpus(allowed_cpus()),
            vocabulary_only=vocabulary_only,
            found=self._found,
        )
        return loader.load()

    def _found(self, path: Path | None) -> None:
        self._model = path

    def _begun(self, loaded: Loaded, prepared: Sequence[Prepared], results: Results) -> BatchRun:
        from nextok.cli.batch_plan import made_plan
        from nextok.cli.batch_run import BatchRun

        trained = loaded.weights.trained_context
        warn_beyond_training(loaded.engine.ctx_size, trained, self._console)
        plan = made_plan(prepared, loaded, self._model, self._say)
        return BatchRun(
            loaded,
            prepared,
            plan,
            self._guesses(loaded, prepared, plan),
            model="toy" if self._model is None else self._model.stem,
            results=results,
            abort=self._abort,
            watcher=self._watcher,
            status=self._status,
        )

    def _guesses(
        self, loaded: Loaded, prepared: Sequence[Prepared], plan: Plan
    ) -> BatchGuesses | None:
        """What guesses ahead; imported where something is to."""
        if not loaded.guesses:
            return None
        from nextok.cli.batch_guesses import batch_guesses

        return batch_guesses(
            loaded,
            plan.options(loaded),
            self._abort,
            self._console,
            parallel=plan.parallel,
            repeatable=any(one.repeatable for one in prepared),
        )

    def _say(self, words: str) -> None:
        if self._invocation.resolved.output.verbose:
            self._console.plain(words)

    # -- the end

    def _end(self) -> int:
        reason, run = self._abort.reason, self._run
        if run is not None and reason is not FinishReason.DISCONNECTED:
            self._console.note(run.progress.summary())
        if reason in (FinishReason.INTERRUPTED, FinishReason.DISCONNECTED):
            leave(reason, self._watcher.signal_number)
        ends = set(run.reasons if run is not None else ())
        if self._input.bad_lines or FinishReason.ERROR in ends:
            return FAILED
        if reason is not None or not ends.isdisjoint(_LATE):
            return TIMED_OUT
        return CONTEXT if FinishReason.CONTEXT in ends else ANSWERED
