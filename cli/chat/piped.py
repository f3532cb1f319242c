"""The chat through a pipe: each line of standard input is a message, each gets one answer.

Promises that messages and answers stay in step: where there are no words, there is an empty line
or an error. Whatever ends the run, what was said until then is kept.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING

from nextok.cli.answer import Answer, JsonLines, PlainAnswer
from nextok.cli.chat.chat_settings import with_settings
from nextok.cli.chat.command import make_session
from nextok.cli.chat.keeping import model_of
from nextok.cli.chat.piped_lines import piped_messages
from nextok.cli.chat.session import Session
from nextok.cli.chat.turn import Turn
from nextok.cli.ending import leave
from nextok.cli.exit_codes import ANSWERED, CONTEXT, FAILED, TIMED_OUT, code_of
from nextok.cli.invocation import Invocation
from nextok.cli.report import two_lines
from nextok.cli.stdout import Stdout
from nextok.cli.think_mode import think_mode
from nextok.cli.trace import opened_trace
from nextok.generation.abort import Aborted
from nextok.generation.errors import ContextError, NextokError, OutputError, TemplateError
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.cli.latency_display import Latency

_CODES = {
    FinishReason.CONTEXT: CONTEXT,
    FinishReason.TIMEOUT: TIMED_OUT,
    FinishReason.STALLED: TIMED_OUT,
}
_WHOLE = (FinishReason.EOS, FinishReason.STOP)


def answer_lines(invocation: Invocation, first: str) -> int:
    """Answer until the input ends; the exit code.

    first: a message before all lines, unless it is empty. The code is that of the failure that
    ended the run, else of the first turn that went wrong.
    """
    written = _Output(invocation)
    try:
        with closing(make_session(invocation, None)) as session:
            session.note = invocation.console.warning  # what goes must be known in a log, too
            set_before = session.conversation.settings
            session.resolved = with_settings(session.resolved, set_before, invocation.console.note)
            return _Piped(invocation, session, written).run(first)
    except NextokError as error:
        if invocation.resolved.output.debug:
            raise  # whoever catches it shows where it comes from
        written.refuse(error)
        return code_of(error)


class _Output:
    """Where the turns are written: as words or as lines of JSON, and in the trace."""

    def __init__(self, invocation: Invocation) -> None:
        """Raises OutputError when the trace cannot be written."""
        output = invocation.resolved.output
        self.turn = 1
        """The one that is going on, or to come."""
        self._settings, self._environ = output, invocation.environ
        self._console = invocation.console
        self._stdout = Stdout(clock=time.monotonic, encoding=sys.stdout.encoding or "utf-8")
        self._think = think_mode(
            output, terminal=self._stdout.is_terminal, environ=invocation.environ
        )
        self._is_plain = not output.jsonl
        trace = opened_trace(invocation)
        writers = [] if self._is_plain else [self._stdout.line]
        self._writers = writers if trace is None else [*writers, trace.line]

    def answers(self) -> list[Answer]:
        """For one turn."""
        latency = self._latency()
        tint = latency.tint if latency is not None else None
        answers: list[Answer] = [*self._plain(tint), *self._lines()]
        return answers if latency is None else latency.around(*answers)

    def refuse(self, error: NextokError) -> None:
        """There is no answer to this message, and why."""
        with suppress(OutputError):  # it may be what there is to say
            for lines in self._lines():
                lines.fail(str(error), code_of(error))
        self._console.error(str(error))

    def leave_blank(self) -> None:
        """Where an answer would be."""
        if self._is_plain:
            self._stdout.text("\n")

    def finish(self, turn: Turn) -> None:
        """After an answer that nothing from outside has ended."""
        outcome = turn.outcome
        shown = outcome.text or (outcome.reasoning and self._think != "hide")
        if not shown and outcome.finish.error is None:
            self.leave_blank()
        reason = outcome.finish.reason
        if reason not in (*_WHOLE, FinishReason.ERROR):
            # The code of a full context must be explained in a log, too; a time limit was set.
            full = reason is FinishReason.CONTEXT
            say = self._console.warning if full else self._console.note
            say(f"answer {self.turn} was cut: {reason.value}")

    def _latency(self) -> Latency | None:
        if not self._settings.shows_latency:
            return None
        from nextok.cli.latency_display import latency_of
        from nextok.cli.latency_summary import Said

        environ, say = self._environ, self._console.plain
        return latency_of(self._settings, self._stdout, environ, say=say, said=Said(load=False))

    def _plain(self, tint: Callable[[str], None] | None) -> list[PlainAnswer]:
        return [PlainAnswer(self._stdout, self._think, tint)] if self._is_plain else []

    def _lines(self) -> list[JsonLines]:
        return [JsonLines(write_line, turn=self.turn) for write_line in self._writers]


class _Piped:
    """One run through a pipe."""

    def __init__(self, invocation: Invocation, session: Session, written: _Output) -> None:
        self._invocation = invocation
        self._session = session
        self._prompt = invocation.resolved.prompt
        self._written = written
        self._code = ANSWERED

    def run(self, first: str) -> int:
        """Without a message nothing is loaded."""
        for message in chain(filter(str.strip, [first]), piped_messages(self._prompt)):
            try:
                self._answer(message)
            except ContextError as error:  # this message is refused; the next one may fit
                self._written.refuse(error)
                self._written.leave_blank()
                self._code = self._code or code_of(error)
            if self._code == FAILED:
                break
            self._written.turn += 1
        return self._code

    def _answer(self, message: str) -> None:
        self._load()
        turn = self._session.say(message, self._written.answers())
        if turn.signal_number:
            leave(FinishReason.INTERRUPTED, turn.signal_number)
        if self._session.stage.abort.reason is FinishReason.DISCONNECTED:
            leave(FinishReason.DISCONNECTED, 0)
        self._written.finish(turn)
        self._say_figures()
        finish = turn.outcome.finish
        if finish.error is not None:  # its words are out already
            self._invocation.console.error(str(finish.error))
            self._code = FAILED
        self._code = self._code or _CODES.get(finish.reason, ANSWERED)

    def _load(self) -> None:
        session = self._session
        if session.engine is not None:
            return
        try:
            engine = session.load(model_of(session.conversation, self._invocation))
        except Aborted:  # not by a signal, which ends the process there: nobody listens any more
            leave(FinishReason.DISCONNECTED, 0)
        if session.resolved.engine.model is None:
            name = engine.weights.name
            self._invocation.console.note(f"answering with {name}; -m names another model")
        system, prompt = session.conversation.system, session.resolved.prompt
        if system is not None and not prompt.fold_system and not engine.rendering.takes_system():
            raise TemplateError(
                f"the chat template of {engine.weights.name} takes no system message: "
                "--fold-system puts it at the head of the first message"
            )

    def _say_figures(self) -> None:
        last = self._session.last
        if self._invocation.resolved.output.stats and last is not None:
            for line in two_lines(last.facts, last.outcome):
                self._invocation.console.plain(line)
