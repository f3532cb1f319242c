"""The live figures on an emulated screen: below the text, and gone without a trace."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from collections.abc import Callable, Iterator, Sequence

import pyte
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wcwidth import wcwidth

from nextok.cli.answer import Answer, PlainAnswer
from nextok.cli.chat.markdown_stream import MarkdownStream
from nextok.cli.chat.screen import Screen
from nextok.cli.chat.view import ReplyView
from nextok.cli.console import console_for
from nextok.cli.latency_display import Latency
from nextok.cli.latency_line import Look
from nextok.cli.latency_summary import Said
from nextok.cli.report import Outcome, RunFacts
from nextok.cli.settings import OutputSettings
from nextok.cli.status import Status
from nextok.cli.stdout import Stdout
from nextok.generation.events import Finish, Prefill, Token
from nextok.generation.finish import FinishReason
from nextok.generation.reasoning import SpanKind
from nextok.generation.sampling import Sampling
from nextok.generation.timings import Stopwatch

STEP = 0.06
"""Seconds from token to token: each is due a drawing."""
DRAWING = b"\x1b[K\x1b8"
"""The end of one."""
FIGURES = re.compile(r"TTFT|tok/s| ms\b|[▁-█]")


class Emulator(pyte.HistoryScreen):
    """One that does with a wide character at the edge what terminals do: it goes to the next row.

    One at a time, because after a character without width the rest of a text would be left out.
    """

    was_resized = False

    def draw(self, data: str) -> None:
        for char in data:
            if wcwidth(char) == 2 and self.cursor.x == self.columns - 1:
                self.cursor.x = self.columns
            super().draw(char)

    def save_cursor(self) -> None:
        """What comes around the line: a cursor at the edge would not be there any more after it."""
        assert self.was_resized or self.cursor.x < self.columns, "drawn at the edge"
        super().save_cursor()


class Window:
    """A terminal of some size, its screen emulated, and a standard output that goes there."""

    def __init__(self, columns: int, rows: int, *, used: int = 0) -> None:
        """used: rows that are full already."""
        self._ours, self._theirs = os.openpty()
        os.set_blocking(self._ours, False)
        self._set_size(columns, rows)
        self.stdout = Stdout(clock=lambda: 0.0, encoding="utf-8", descriptor=self._theirs)
        self.screen = Emulator(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        for row in range(used):
            self.stdout.drawn(f"used {row}\n")

    def look(self) -> pyte.Screen:
        """What is on the screen by now."""
        while True:
            try:
                data = os.read(self._ours, 1 << 16)
            except BlockingIOError:
                return self.screen
            self.raw += data
            self._stream.feed(data)

    def lines(self) -> list[str]:
        """Every line so far, those that have left the window first; no blanks at the end."""
        screen = self.look()
        top = ["".join(row[x].data for x in range(screen.columns)) for row in screen.history.top]
        lines = [line.rstrip() for line in [*top, *screen.display]]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def cursor(self) -> tuple[int, int]:
        screen = self.look()
        return screen.cursor.x, screen.cursor.y

    def resize(self, columns: int, rows: int) -> None:
        self.look()
        self.screen.resize(rows, columns)
        self.screen.ensure_hbounds()
        self.screen.was_resized = True
        self._set_size(columns, rows)

    def close(self) -> None:
        os.close(self._ours)
        os.close(self._theirs)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


FACTS = RunFacts(
    model="m",
    prompt_tokens=3,
    context_size=100,
    threads=1,
    sampling=Sampling(seed=1),
    exact=True,
    load_seconds=1.0,
)


def show(
    window: Window,
    shown: Answer,
    pieces: Sequence[str],
    asked: OutputSettings | None,
    *,
    each: Callable[[Window, int], None] = lambda window, index: None,
    step: float = STEP,
) -> None:
    """The pieces, a token each, with what is asked for of their times."""
    answers = [shown]
    if asked is not None:
        answers = latency(window, asked).around(shown)
    for one in answers:
        one.start(FACTS, 0.0)
        one.event(Prefill(3, 3, 0), [])
    for index, piece in enumerate(pieces):
        token = Token(index, 0, piece, 1.0 + index * step, step)
        for one in answers:
            one.event(token, [(SpanKind.ANSWER, piece)] if piece else [])
        window.look()  # or the terminal is full, and takes no more
        each(window, index)
    outcome = ended(len(pieces))
    for one in answers:
        one.event(outcome.finish, [])
        one.finish(FACTS, outcome)
    window.look()


def latency(window: Window, asked: OutputSettings) -> Latency:
    look = Look(color=True, unicode=True)
    return Latency(
        asked, terminal=window.stdout, look=look, say=lambda line: None, said=Said()
    )  # fmt: skip


def ended(tokens: int) -> Outcome:
    finish = Finish(
        reason=FinishReason.EOS,
        text="",
        stop=None,
        error=None,
        prompt_tokens=3,
        cached_tokens=0,
        completion_tokens=tokens,
        timings=Stopwatch(0.0).timings(1.0),
    )
    return Outcome(finish=finish, text="", reasoning=None, first_byte_seconds=1.0)


Each = Callable[[Window, int], None]
Both = Callable[..., tuple[Window, Window]]


@pytest.fixture
def both() -> Iterator[Both]:
    """`both(pieces, columns, rows, used=0, each=..., step=..., made=...)`: with and without."""
    windows: list[Window] = []

    def run(
        pieces: Sequence[str],
        columns: int,
        rows: int,
        *,
        used: int = 0,
        made: Callable[[Window], Answer] = plain,
        each: Each = lambda window, index: None,
        step: float = STEP,
    ) -> tuple[Window, Window]:
        for asked in (OutputSettings(latency=True), None):
            window = Window(columns, rows, used=used)
            windows.append(window)
            show(window, made(window), pieces, asked, each=each, step=step)
        return windows[-2], windows[-1]

    yield run
    for window in windows:
        window.close()


def plain(window: Window) -> Answer:
    return PlainAnswer(window.stdout, "dim")


def reply(window: Window) -> Answer:
    """A reply of the chat, its markdown shown."""
    screen = Screen(window.stdout, color=True, draws=True, quiet=True)
    status = Status(console_for(None, "never", {}), lambda: 0.0)

    def stream() -> MarkdownStream:
        return MarkdownStream(
            screen.draw,
            width=lambda: screen.size.columns,
            height=lambda: screen.size.lines,
            color=True,
        )

    return ReplyView(window.stdout, screen, status, stream, "dim")


def check_same(windows: tuple[Window, Window]) -> None:
    """The same text, and the cursor below it."""
    with_it, without = windows
    assert with_it.lines() == without.lines()
    assert with_it.cursor[0] == without.cursor[0]
    assert not any(FIGURES.search(line) for line in with_it.lines())


ENGLISH = re.findall(
    r"\S+ +", "the quick brown fox jumps over the lazy dog, and then it sleeps  " * 4
)
CHINESE = list("敏捷的棕色狐狸跳过了懒狗然后睡着了" * 4)
EMOJI = ["a", "❤\ufe0f", "b ", "👍🏽", " c", "👩\u200d🚀", "d", "🇩🇪", "efg ", "e\u0301"] * 5
LINES = [f"line {number}\n" for number in range(20)]


@pytest.mark.parametrize("pieces", [ENGLISH, CHINESE, EMOJI, LINES, ["a", "世"] * 30, ["x"] * 100])
@pytest.mark.parametrize(
    ("columns", "rows", "used"), [(20, 5, 3), (21, 24, 0), (40, 2, 5), (80, 24, 23)]
)
def test_the_answer_is_the_same_with_it(
    both: Both, pieces: Sequence[str], columns: int, rows: int, used: int
) -> None:
    windows = both(pieces, columns, rows, used=used)
    check_same(windows)
    assert windows[0].raw.count(DRAWING) >= 5


PIECES = [
    "a", "bb", "word ", " ", "\n", "\n\n", "世", "世界人", "\t", "e\u0301", "👍🏽", "❤\ufe0f", "🇩🇪",
    "👨\u200d👩\u200d👧", "x" * 7, "longer words here ", "é", "", "\r", "\r\n",
]  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=30),
    columns=st.sampled_from([14, 20, 21, 40]),
    rows=st.sampled_from([2, 3, 10]),
    used=st.integers(0, 9),
    step=st.sampled_from([0.06, 0.02]),
)
def test_whatever_is_said_it_stands_below_and_leaves_no_trace(
    pieces: list[str], columns: int, rows: int, used: int, step: float
) -> None:
    def check(window: Window, index: int) -> None:
        screen = window.look()
        below = [line.strip() for line in screen.display[screen.cursor.y + 1 :]]
        assert not any(below[1:])
        assert not below or not below[0] or FIGURES.search(below[0])

    windows = [Window(columns, rows, used=used) for _ in range(2)]
    show(windows[0], plain(windows[0]), pieces, OutputSettings(latency=True), each=check, step=step)
    show(windows[1], plain(windows[1]), pieces, None)
    check_same((windows[0], windows[1]))
    for window in windows:
        window.close()


def test_it_is_there_with_every_token_of_a_slow_model(both: Both) -> None:
    seen: list[str] = []

    def look(window: Window, index: int) -> None:
        screen = window.look()
        if window.stdout.below is not None:
            seen.append("".join(screen.display[screen.cursor.y + 1 :]).strip())

    pieces = ["word "] * 30  # they fill no row of 81 columns to its edge
    both(pieces, 81, 5, used=5, each=look, step=0.1)
    assert len(seen) == 30 and all(seen)
    assert seen[0] == "TTFT 1.00k ms".replace("1.00k", "1000")
    assert seen[-1].startswith("TTFT 1000 ms   100 ms  p50 100  p95 100  max 100   10.0 tok/s  ▅▅▅")


def test_it_is_drawn_twenty_times_a_second_however_fast_tokens_come(both: Both) -> None:
    window, _ = both(["."] * 500, 2000, 24, step=0.002)
    assert window.raw.count(DRAWING) == 20
    window, _ = both(["word "] * 500, 80, 24, step=0.002)
    assert 20 <= window.raw.count(DRAWING) <= 40


MARKDOWN = (
    "# Why the sky is **blue**\n\nSunlight is a mix of *all* colours, and `air` scatters the short"
    " waves more than the long ones.\n\n| colour | wavelength |\n|:--|--:|\n| blue | 450 nm |\n"
    "| red | 650 nm |\n\n1. one\n2. two, which is so long that it does not fit into a row\n\n"
    "```python\ndef power(x: float) -> float:\n    return x ** 4\n```\n\n> 世界人世界人世界人\n"
)


@pytest.mark.parametrize(("columns", "rows"), [(30, 8), (84, 12)])
@pytest.mark.parametrize("size", [2, 7])
def test_markdown_is_the_same_with_it(both: Both, columns: int, rows: int, size: int) -> None:
    pieces = [MARKDOWN[at : at + size] for at in range(0, len(MARKDOWN), size)]
    windows = both(pieces, columns, rows, used=3, made=reply)
    check_same(windows)
    assert windows[0].raw.count(DRAWING) > 10


@pytest.mark.parametrize("pieces", [ENGLISH, CHINESE, LINES])
@pytest.mark.parametrize(("before", "after"), [(40, 20), (80, 41), (20, 60)])
@pytest.mark.parametrize("at", [0, 13])
def test_the_window_is_resized_in_the_middle(
    both: Both, pieces: Sequence[str], before: int, after: int, at: int
) -> None:
    def resize(window: Window, index: int) -> None:
        if index == at:
            window.resize(after, 10)

    check_same(both(pieces, before, 10, used=4, each=resize))


@pytest.mark.parametrize(("columns", "rows"), [(80, 1), (7, 24)])
def test_where_there_is_no_room_there_is_none(both: Both, columns: int, rows: int) -> None:
    with_it, without = both(ENGLISH, columns, rows)
    assert with_it.raw == without.raw


def test_a_failure_takes_it_away() -> None:
    window = Window(40, 5)
    answers = latency(window, OutputSettings(latency=True)).around(plain(window))
    for one in answers:
        one.start(FACTS, 0.0)
        one.event(Token(0, 0, "word", 1.0, 0.1), [(SpanKind.ANSWER, "word")])
    assert window.lines() == ["word", "TTFT 1000 ms"]
    for one in answers:
        one.fail("it broke", 1)
    assert (window.lines(), window.cursor) == (["word"], (0, 1))
    window.close()


def test_text_is_tinted_and_stays_the_same() -> None:
    window = Window(40, 5)
    asked = OutputSettings(latency_color=True)
    tint = latency(window, asked).tint
    assert tint is not None
    shown = PlainAnswer(window.stdout, "dim", tint)
    show(window, shown, ["one ", "two\n", "three"], asked)
    assert window.raw.replace(b"\r\n", b"\n") == b"one two\nthree\n"
    window.close()
