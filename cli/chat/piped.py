"""The chat through a pipe: each line of standard input is a message, each gets one answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from nextok.cli.answer import Answer, JsonLines, PlainAnswer, json_text
from nextok.cli.chat.command import make_session
from nextok.cli.chat.keeping import model_of
from nextok.cli.chat.session import Session
from nextok.cli.ending import leave
from nextok.cli.exit_codes import ANSWERED, CONTEXT, TIMED_OUT, code_of
from nextok.cli.invocation import Invocation
from nextok.cli.prompt import decode
from nextok.cli.stdin import read_lines
from nextok.cli.stdout import Stdout
from nextok.cli.trace import opened_trace
from nextok.generation.errors import ContextError, NextokError, TemplateError
from nextok.generation.finish import FinishReason

_CODES = {
    FinishReason.CONTEXT: CONTEXT,
    FinishReason.TIMEOUT: TIMED_OUT,
    FinishReason.STALLED: TIMED_OUT,
}
_ENDS = (FinishReason.INTERRUPTED, FinishReason.DISCONNECTED)


def answer_lines(invocation: Invocation, first: str | None) -> int:
    """Answer until the input ends; the exit code is that of the first turn that went wrong."""
    return Piped(invocation).run(first)


class Piped:
    """One run through a pipe."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._output = invocation.resolved.output
        self._stdout = Stdout(clock=time.monotonic, encoding=sys.stdout.encoding or "utf-8")
        self._trace = opened_trace(invocation)
        self._session = make_session(invocation, None)
        self._turns = 0
        self._code = ANSWERED

    def run(self, first: str | None) -> int:
        """Without a message nothing is loaded."""
        try:
            for message in self._messages(first):
                self._answer(message)
        finally:
            self._session.close()
        return self._code

    def _messages(self, first: str | None) -> Iterator[str]:
        if first:
            yield first
        encoding = self._invocation.resolved.prompt.encoding
        for number, line in enumerate(read_lines(), start=1):
            text = decode(line, f"line {number} of standard input", encoding)
            text = text.removesuffix("\n").removesuffix("\r")
            if text.strip():
                yield text

    def _answer(self, message: str) -> None:
        self._turns += 1
        try:
            self._load()
            turn = self._session.say(message, self._answers())
        except ContextError as error:  # this message is refused; the next one may fit
            self._say_failed(error)
            self._invocation.console.error(str(error))
            return
        except NextokError as error:
            self._say_failed(error)
            raise
        finish = turn.outcome.finish
        if finish.reason in _ENDS:
            self._session.keeping.close()
            leave(finish.reason, turn.signal_number)
        if finish.error is not None:
            raise finish.error
        self._code = self._code or _CODES.get(finish.reason, ANSWERED)

    def _say_failed(self, error: NextokError) -> None:
        code = code_of(error)
        self._code = self._code or code
        if self._output.jsonl:
            failed = {"type": "error", "turn": self._turns, "error": str(error), "code": code}
            self._stdout.line(json_text(failed))

    def _load(self) -> None:
        session: Session = self._session
        if session.engine is not None:
            return
        engine = session.load(model_of(session.conversation, self._invocation))
        system, prompt = session.conversation.system, session.resolved.prompt
        if system is not None and not prompt.fold_system and not engine.rendering.takes_system():
            raise TemplateError(
                f"the chat template of {engine.weights.name} takes no system message: "
                "--fold-system puts it at the head of the first message"
            )

    def _answers(self) -> list[Answer]:
        answers: list[Answer] = []
        if self._output.jsonl:
            answers.append(JsonLines(self._stdout.line, turn=self._turns))
        else:
            answers.append(PlainAnswer(self._stdout, self._output.think or "hide"))
        if self._trace is not None:
            answers.append(JsonLines(self._trace.line, turn=self._turns))
        return answers
