"""`nextok generate`: one answer to one prompt, ended by whatever ends it."""

from __future__ import annotations

import contextlib
import sys
import time
from functools import cached_property
from typing import TYPE_CHECKING

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.threads import allowed_cpus
from nextok.cli.deadlines import deadlines
from nextok.cli.ending import leave
from nextok.cli.exit_codes import ANSWERED, CONTEXT, SIGNALLED, TIMED_OUT, code_of
from nextok.cli.invocation import Invocation
from nextok.cli.late_modules import import_ahead
from nextok.cli.loaded import Loader
from nextok.cli.privacy import keeps_chats
from nextok.cli.prompting import read_prompt
from nextok.cli.remembrance import Remembrance
from nextok.cli.status import Status
from nextok.cli.stdout import ReaderGone, Stdout
from nextok.cli.trace import opened_trace
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import NextokError, OutputError
from nextok.generation.finish import FinishReason

# What comes after the load is imported then: none of it is needed to start the engine.
if TYPE_CHECKING:
    from nextok.cli.answer import Answer
    from nextok.cli.delivery import Delivery
    from nextok.cli.kept import KeptAnswer
    from nextok.cli.latency_display import Latency
    from nextok.cli.prompting import Prompt
    from nextok.cli.report import Outcome

_CODES = {
    FinishReason.CONTEXT: CONTEXT,
    FinishReason.TIMEOUT: TIMED_OUT,
    FinishReason.STALLED: TIMED_OUT,
}
_NOTES = {
    FinishReason.LENGTH: "stopped after {tokens} tokens (--max-tokens)",
    FinishReason.CONTEXT: "stopped: the context of {context} tokens is full (--ctx-size)",
    FinishReason.INTERRUPTED: "interrupted",
    FinishReason.TIMEOUT: "stopped: out of time (--timeout, --first-token-timeout)",
    FinishReason.STALLED: "stopped: the engine stalled (--stall-timeout)",
}


def generate(invocation: Invocation) -> int:
    """Answer; the exit code. Endings from outside may end the process instead."""
    return _Generation(invocation).run()


class _Generation:
    """Everything around one answer: where it goes, what may end it, what is said at the end."""

    def __init__(self, invocation: Invocation) -> None:
        """Raises OutputError when the trace cannot be written."""
        self._invocation = invocation
        self._console = invocation.console
        self._output = invocation.resolved.output
        self._abort = Abort()
        self._status = Status(self._console, time.monotonic)
        self._stdout = Stdout(clock=time.monotonic, encoding=sys.stdout.encoding or "utf-8")
        self._trace = opened_trace(invocation)
        self._kept: KeptAnswer | None = None
        self._remembrance = Remembrance(invocation)
        self._watcher = Watcher(
            self._abort,
            deadlines(invocation.resolved.stops),
            started=invocation.start.at,
            clock=time.monotonic,
            last_words=self._last_words,
        )

    def run(self) -> int:
        self._watcher.start()
        try:
            self._answer()
        except ReaderGone:
            self._abort.trip(FinishReason.DISCONNECTED)
        except Aborted:
            self._watcher.came_back()
            self._fail(*self._cut_short())
        except NextokError as error:
            self._fail(str(error), code_of(error))
            self._remembrance.write_failure(error)
            raise
        finally:
            self._status.clear()
            self._watcher.stop()
        return self._end()

    def _answer(self) -> None:
        resolved = self._invocation.resolved
        prompt = read_prompt(resolved.prompt, self._console)
        self._kept, self._remembrance.asked = self._kept_answer(prompt), prompt.asked
        if self._kept is not None:
            resolved = self._kept.resolved
        loaded = Loader(
            resolved=resolved,
            abort=self._abort,
            console=self._console,
            status=self._status,
            clock=time.monotonic,
            around_fetching=self._watcher.excused,
            cpus=FreeCpus(allowed_cpus()),
            found=self._remembrance.found,
            meanwhile=import_ahead,
        ).load()
        self._remembrance.loaded(loaded)
        from nextok.cli.oneshot import OneShot

        one = OneShot(
            loaded,
            console=self._console,
            status=self._status,
            delivery=self._delivery,
            abort=self._abort,
            watcher=self._watcher,
            started=self._invocation.start.at,
        )
        one.run(self._kept or prompt)

    def _kept_answer(self, prompt: Prompt) -> KeptAnswer | None:
        resolved = self._invocation.resolved
        chat = resolved.chat
        asked = chat.save or chat.continue_last or chat.resume
        if not (asked and keeps_chats(resolved)):
            return None
        from nextok.cli.kept import kept_answer

        return kept_answer(prompt, self._invocation)

    def _end(self) -> int:
        outcome, reason = self._delivery.outcome, self._abort.reason
        if outcome is not None:
            if self._kept is not None and self._delivery.facts is not None:
                self._kept.end(outcome, self._delivery.facts.model)
            if reason is not FinishReason.DISCONNECTED:
                self._say_how_it_ended(outcome)
        self._remembrance.write(reason)
        if outcome is not None:
            if outcome.finish.error is not None:
                raise outcome.finish.error
            reason = reason or outcome.finish.reason
        if reason in (FinishReason.INTERRUPTED, FinishReason.DISCONNECTED):
            leave(reason, self._watcher.signal_number)
        return _CODES.get(reason, ANSWERED) if reason else ANSWERED

    def _say_how_it_ended(self, outcome: Outcome) -> None:
        finish, facts = outcome.finish, self._delivery.facts
        note = _NOTES.get(finish.reason)
        if note is not None and facts is not None:
            self._console.note(
                note.format(tokens=finish.completion_tokens, context=facts.context_size)
            )
        if self._output.stats and facts is not None:
            from nextok.cli.report import two_lines

            for line in two_lines(facts, outcome):
                self._console.plain(line)

    def _cut_short(self) -> tuple[str, int]:
        """Words and code for an ending before the first token."""
        reason = self._abort.reason or FinishReason.INTERRUPTED
        code = _CODES.get(reason, SIGNALLED + self._watcher.signal_number)
        return reason.value, code

    def _fail(self, message: str, code: int) -> None:
        with contextlib.suppress(ReaderGone, OutputError):
            self._delivery.fail(message, code)

    def _last_words(self, reason: FinishReason) -> None:
        """The watcher is about to end the process; the main thread is stuck somewhere else."""
        self._status.close()
        asked = self._output
        has_words = self._remembrance.is_loaded or asked.json or asked.jsonl or asked.trace
        is_read = reason is not FinishReason.DISCONNECTED
        if has_words and is_read and self._stdout.takes_a_line():
            self._fail(*self._cut_short())
        self._remembrance.write_at_once(reason)

    def _first_byte(self) -> float:
        """Seconds from process start; of a JSON object, until it is about to be written."""
        at = self._stdout.first_write_at
        return (time.monotonic() if at is None else at) - self._invocation.start.at

    @cached_property
    def _delivery(self) -> Delivery:
        from nextok.cli.delivery import Delivery

        answers = [*self._remembrance.listeners(), *self._answers()]
        return Delivery(answers, self._first_byte)

    def _latency(self) -> Latency | None:
        """What is shown of each token's time."""
        if not self._output.shows_latency:
            return None
        from nextok.cli.latency_display import latency_of

        environ, say = self._invocation.environ, self._console.plain
        return latency_of(self._output, self._stdout, environ, say=say)

    def _answers(self) -> list[Answer]:
        """stdout's form, and the trace beside it."""
        from nextok.cli.answer import JsonAnswer, JsonLines, PlainAnswer
        from nextok.cli.think_mode import think_mode

        latency = self._latency()
        answers: list[Answer] = []
        if self._output.json:
            answers.append(JsonAnswer(self._stdout.line))
        elif self._output.jsonl:
            answers.append(JsonLines(self._stdout.line))
        else:
            terminal, environ = self._stdout.is_terminal, self._invocation.environ
            think = think_mode(self._output, terminal=terminal, environ=environ)
            tint = latency.tint if latency is not None else None
            answers.append(PlainAnswer(self._stdout, think, tint))
        if latency is not None:
            answers = latency.around(*answers)
        if self._trace is not None:
            answers.append(JsonLines(self._trace.line))
        if self._kept is None:
            return answers
        from nextok.cli.chat.reply import Guarded

        return [Guarded(answer, self._abort) for answer in answers]  # what was said is kept
