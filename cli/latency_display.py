"""`--latency` and `--latency-color`: what they add to an answer as it is made and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nextok.cli.console import knows_codes, use_color
from nextok.cli.latency_line import BARS, Look, latency_line
from nextok.cli.latency_meter import LatencyMeter
from nextok.cli.latency_summary import LatencySummary, Said
from nextok.cli.latency_tint import Tint
from nextok.cli.line_below import LineBelow
from nextok.generation.events import Event, Token
from nextok.generation.reasoning import Span

if TYPE_CHECKING:
    from nextok.cli.answer import Answer
    from nextok.cli.report import Outcome, RunFacts
    from nextok.cli.settings import OutputSettings
    from nextok.cli.stdout import Stdout


class LatencyDisplay:
    """An answer in any form, its tokens metered, a line of figures below it if there is one."""

    def __init__(self, inner: Answer, meter: LatencyMeter, line: LineBelow | None) -> None:
        self._inner = inner
        self._meter = meter
        self._line = line

    def start(self, facts: RunFacts, origin: float) -> None:
        self._meter.start(origin)
        if self._line is not None:
            self._line.open()
        self._inner.start(facts, origin)

    def event(self, event: Event, spans: Sequence[Span]) -> None:
        if not isinstance(event, Token):
            self._inner.event(event, spans)
            return
        self._meter.token(event)
        self._inner.event(event, spans)
        if self._line is not None:
            self._line.refresh(event.at)

    def finish(self, facts: RunFacts, outcome: Outcome) -> None:
        self._take_away()
        self._inner.finish(facts, outcome)

    def fail(self, message: str, code: int) -> None:
        self._take_away()
        self._inner.fail(message, code)

    def _take_away(self) -> None:
        if self._line is not None:
            self._line.close()


class Latency:
    """What was asked for of one answer."""

    def __init__(
        self,
        output: OutputSettings,
        *,
        terminal: Stdout | None,
        look: Look,
        say: Callable[[str], None],
        said: Said,
    ) -> None:
        """terminal: where the text streams to, if that is a terminal that can move its cursor.
        say: takes the lines at the end."""
        self._meter = LatencyMeter()
        self._look = look
        self.tint: Callable[[str], None] | None = None
        """Writes text in colours, if there are to be any."""
        self._line: LineBelow | None = None
        self._summary: LatencySummary | None = None
        if output.latency:
            self._summary = LatencySummary(self._meter, say, said)
        if terminal is not None and output.latency:
            self._line = LineBelow(terminal, self._text)
        if terminal is not None and output.latency_color and look.color:
            self.tint = Tint(self._meter, terminal.drawn).write

    def around(self, shown: Answer, *others: Answer) -> list[Answer]:
        """The answers of a turn: the one that is shown, with the figures, and those after it."""
        answers = [LatencyDisplay(shown, self._meter, self._line), *others]
        return answers if self._summary is None else [*answers, self._summary]

    def _text(self, room: int) -> str:
        reading = self._meter.reading()
        return "" if reading is None else latency_line(reading, room, self._look)


def latency_of(
    output: OutputSettings,
    stdout: Stdout,
    environ: Mapping[str, str],
    *,
    say: Callable[[str], None],
    said: Said | None = None,
) -> Latency | None:
    """What the settings ask for, of an answer that goes to stdout; None when they do not."""
    if not output.shows_latency:
        return None
    draws = stdout.is_terminal and knows_codes(environ) and not (output.json or output.jsonl)
    color = use_color(output.color, terminal=stdout.is_terminal, environ=environ)
    return Latency(
        output,
        terminal=stdout if draws else None,
        look=Look(color=color, unicode=stdout.can_show(BARS)),
        say=say,
        said=said or Said(),
    )
