"""What a download says: a line that moves, a few that stay, or nothing."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyte
import pytest

from nextok.backends.download import Progress, Stage
from nextok.cli.console import Console
from nextok.cli.download_display import DownloadDisplay
from nextok.cli.download_line import amounts, countdown, shortened
from nextok.cli.status import Status

MIB = 1 << 20
NAME = "SmolLM2-360M-Instruct-Q4_K_M"
SOME = Progress(
    file=f"{NAME}.gguf",
    part=1,
    parts=1,
    stage=Stage.FETCHING,
    done=0,
    total=100 * MIB,
    resumed=0,
    rate=None,
    seconds_left=None,
    idle_seconds=0.0,
    retry_seconds=0.0,
    attempt=1,
    notice=None,
)

Play = Callable[..., str]


@pytest.fixture
def play() -> Play:
    """`play(moments, terminal=True, quiet=False)`: all that is written to standard error."""

    def run(moments: list[Progress], *, terminal: bool = False, quiet: bool = False) -> str:
        stream = io.StringIO()
        console = Console(stream=stream, terminal=terminal, color=terminal, quiet=quiet)
        ticks: Iterator[int] = iter(range(10**6))
        clock: Callable[[], float] = lambda: float(next(ticks))  # noqa: E731
        display = DownloadDisplay(console, Status(console, clock), clock)
        for moment in moments:
            display(moment)
        return stream.getvalue()

    return run


def whole_file(steps: int) -> list[Progress]:
    """A download in many small steps."""
    moments = [replace(SOME, done=SOME.total * step // steps) for step in range(steps + 1)]
    return [*moments, replace(SOME, stage=Stage.DONE, done=SOME.total)]


def screen(output: str, columns: int = 80) -> list[str]:
    """What is left on a terminal's screen."""
    shown = pyte.Screen(columns, 10)
    pyte.Stream(shown).feed(output.replace("\n", "\r\n"))
    return [line.rstrip() for line in shown.display if line.strip()]


def test_a_log_gets_a_start_three_shares_and_an_end(play: Play) -> None:
    lines = play(whole_file(1000)).splitlines()
    assert lines[:4] == [
        f"nextok: fetching {NAME}.gguf: 100.0 MiB",
        f"nextok: {NAME}.gguf: 25% of 100.0 MiB",
        f"nextok: {NAME}.gguf: 50% of 100.0 MiB",
        f"nextok: {NAME}.gguf: 75% of 100.0 MiB",
    ]
    assert re.fullmatch(rf"nextok: fetched {NAME}\.gguf: 100\.0 MiB in .+/s", lines[4])
    assert len(lines) == 5


def test_a_log_says_what_was_here_already(play: Play) -> None:
    moments = [replace(moment, resumed=60 * MIB) for moment in whole_file(100)[60:]]
    lines = play(moments).splitlines()
    assert "60.0 MiB are here from an earlier run" in lines[0]
    assert [line for line in lines if "%" in line] == [f"nextok: {NAME}.gguf: 75% of 100.0 MiB"]


def test_a_log_hears_of_trouble_once(play: Play) -> None:
    trouble = replace(SOME, stage=Stage.RETRYING, notice="the connection was cut", retry_seconds=4)
    moments = [SOME, *[replace(trouble, retry_seconds=left) for left in (4.0, 3.5, 3.0)], SOME]
    lines = play(moments).splitlines()
    assert lines[1:] == [f"nextok: {NAME}.gguf: the connection was cut; next attempt in 4 s"]
    waiting = replace(SOME, stage=Stage.WAITING, notice="another process is fetching it")
    assert play([waiting] * 50).count("\n") == 1


def test_quiet_is_nothing_at_all(play: Play) -> None:
    moments = [*whole_file(10), replace(SOME, stage=Stage.RETRYING, notice="cut")]
    assert play(moments, quiet=True) == ""
    assert play(moments, quiet=True, terminal=True) == ""


def test_a_file_that_is_here_is_not_worth_a_line(play: Play) -> None:
    done = replace(SOME, stage=Stage.DONE, done=SOME.total)
    assert play([replace(SOME, stage=Stage.CHECKING), done]) == ""


def test_a_terminal_has_one_line_and_then_the_result(play: Play) -> None:
    output = play(whole_file(50), terminal=True)
    assert output.count("\n") == 1
    (line,) = screen(output)
    assert line.startswith(f"nextok: fetched {NAME}.gguf: 100.0 MiB in ")


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_the_line_never_wraps(play: Play, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    moments = [
        replace(SOME, done=41 * MIB, rate=6.1e6, seconds_left=4000, part=2, parts=12),
        replace(SOME, idle_seconds=75),
        replace(SOME, stage=Stage.RETRYING, retry_seconds=60, notice="the connection was cut " * 9),
        replace(SOME, file="x" * 300 + ".gguf"),
        replace(SOME, file="\x1b[2J\nname.gguf"),
    ]
    for moment in moments:
        output = play([moment], terminal=True)
        assert "\n" not in output and "[2J" not in output.replace("␛[2J", "")
        assert len(screen(output, columns)) == 1


def test_the_line_says_how_far_and_how_fast(play: Play) -> None:
    moment = replace(SOME, done=41 * MIB, rate=6.5 * MIB, seconds_left=9.1)
    (line,) = screen(play([moment], terminal=True), 120)
    assert "━" in line
    for figure in (NAME[:5], "Q4_K_M", "41%", "41.0/100.0 MiB", "6.5 MiB/s", "0:09"):
        assert figure in line


def test_the_line_says_when_nothing_comes(play: Play) -> None:
    moment = replace(SOME, done=41 * MIB, rate=6.5 * MIB, seconds_left=9.1, idle_seconds=7.2)
    (line,) = screen(play([moment], terminal=True))
    assert "no data for 7 s" in line and "MiB/s" not in line


def test_the_line_says_what_the_trouble_is(play: Play) -> None:
    cut = replace(SOME, stage=Stage.RETRYING, retry_seconds=4, notice="the connection was cut")
    assert "in 4 s again: the connection was cut" in screen(play([cut], terminal=True))[0]
    waiting = replace(SOME, stage=Stage.WAITING, notice="another process is fetching it")
    assert "another process is fetching it" in screen(play([waiting], terminal=True))[0]


def test_parts_are_counted(play: Play) -> None:
    part = replace(SOME, file="d/m-Q8_0-00002-of-00003.gguf", part=2, parts=3)
    assert "m-Q8_0-00002-of-00003.gguf (2 of 3)" in play([part])
    (line,) = screen(play([part], terminal=True))
    assert line.startswith("2/3 m-Q8_0 ")


def test_figures() -> None:
    assert amounts(0, 0) == "0/0 bytes"
    assert amounts(512, 2048) == "0.5/2.0 KiB"
    assert amounts(MIB, 12 << 30) == "0.0/12.0 GiB"
    assert [countdown(seconds) for seconds in (0, 25, 61, 4000)] == [
        "0:00", "0:25", "1:01", "1:06:40",
    ]  # fmt: skip
    assert shortened("abc", 3) == "abc"
    assert shortened("model-with-a-name-Q4_K_M", 14) == "model…e-Q4_K_M"
