"""The forms a turn of the chat takes: on the terminal, in a file, as lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nextok.cli.answer import Answer, JsonLines, PlainAnswer
from nextok.cli.chat.markdown_plain import PlainStream, ReplyStream
from nextok.cli.chat.markdown_stream import MarkdownStream
from nextok.cli.chat.view import Footer, ReplyView

if TYPE_CHECKING:
    from collections.abc import Callable

    from nextok.cli.chat.screen import Screen
    from nextok.cli.chat.session import Session
    from nextok.cli.latency_display import Latency
    from nextok.cli.settings import OutputSettings, ThinkMode
    from nextok.cli.stdout import Stdout
    from nextok.cli.trace import Trace


class Replies:
    """Makes the consumers of one turn after another."""

    def __init__(
        self,
        *,
        session: Session,
        stdout: Stdout,
        screen: Screen,
        output: OutputSettings,
        trace: Trace | None,
    ) -> None:
        """stdout: where the words go; it may be the screen's terminal."""
        self._session = session
        self._stdout = stdout
        self._screen = screen
        self._output = output
        self._trace = trace
        self._turns = 0

    def answers(self, think: ThinkMode) -> list[Answer]:
        """For the next turn."""
        self._turns += 1
        answers = self._shown(think)
        if self._trace is not None:
            answers.append(JsonLines(self._trace.line, turn=self._turns))
        return answers

    def stream(self) -> ReplyStream:
        """Shows a text on the terminal as it is to look."""
        if not self._session.resolved.chat.markdown or not self._screen.draws:
            return PlainStream(self._screen.draw)
        return MarkdownStream(
            self._screen.draw,
            width=lambda: self._screen.size.columns,
            height=lambda: self._screen.size.lines,
            color=self._screen.color,
        )

    def _can_make_room(self) -> bool:
        session = self._session
        asked = [one for one in session.conversation.window() if one.role == "user"]
        return session.resolved.chat.on_full == "drop" and len(asked) > 1

    def _shown(self, think: ThinkMode) -> list[Answer]:
        latency = self._latency()
        if latency is None:
            return self._forms(think, self.stream)
        tint = latency.tint
        stream = self.stream if tint is None else lambda: PlainStream(tint)
        return latency.around(*self._forms(think, stream))

    def _latency(self) -> Latency | None:
        """What is shown of each token's time."""
        settings = self._session.resolved.output  # it may have been set since
        if not settings.shows_latency:
            return None
        from nextok.cli.latency_display import Latency
        from nextok.cli.latency_line import BARS, Look
        from nextok.cli.latency_summary import Said

        draws = self._stdout.is_terminal and self._screen.draws and not self._output.jsonl
        return Latency(
            settings,
            terminal=self._stdout if draws else None,
            look=Look(color=self._screen.color, unicode=self._stdout.can_show(BARS)),
            say=lambda line: self._screen.remark(line, dim=True),
            said=Said(load=False, rates=self._output.quiet),  # the footer has them
        )

    def _forms(self, think: ThinkMode, stream: Callable[[], ReplyStream]) -> list[Answer]:
        status, terminal = self._session.status, self._stdout.is_terminal
        footer = Footer(self._screen, status, self._can_make_room)
        if self._output.jsonl:
            lines = JsonLines(self._stdout.line, turn=self._turns)
            return [lines] if terminal else [lines, footer]
        if not terminal:
            return [PlainAnswer(self._stdout, self._output.think or "hide"), footer]
        return [ReplyView(self._stdout, self._screen, status, stream, think), footer]
