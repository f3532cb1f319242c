"""`--latency` and `--latency-color` of a single answer: at a terminal, in a pipe, as settings."""

from __future__ import annotations

import io
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

from nextok.cli.latency_meter import LatencyMeter
from nextok.cli.latency_summary import account_line, tokens_line
from nextok.generation.events import Token
from nextok.generation.timings import Stopwatch, Timings

Ask = Callable[..., Any]
Build = Callable[..., Path]
Terminal = Callable[..., Any]

NEXTOK = str(Path(sys.executable).with_name("nextok"))
TOKENS = (
    r"TTFT [\d.]+ s · ITL p50 [\d.]+ p95 [\d.]+ max [\d.]+ ms · [\d.]+ tokens/s( · \d+ stalls?)?"
)
ACCOUNT = r"[a-z ]+ [\d.]+( \+ [a-z ]+ [\d.]+)* = [\d.]+ s"
DRAWING = "\x1b[K\x1b8"
COLORS = re.compile("\x1b\\[([0-9;]*)m")
LONG = ("-n", "240", "-c", "512", "-q")
"""Several rows, without a word about the end."""


@pytest.fixture
def endless_gguf(scripted: Build) -> Path:
    """Says "la li la li" for as long as anybody listens."""
    return scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)


@pytest.fixture
def thinking_gguf(scripted: Build) -> Path:
    """Thinks for a hundred tokens."""
    words = [f"word{number} " for number in range(100)]
    return scripted(["<think>", *words], stem="long-thought", ctx_train=4096)


def check_summary(lines: list[str]) -> None:
    tokens, account = lines
    assert re.fullmatch(TOKENS, tokens), tokens
    assert re.fullmatch(ACCOUNT, account), account


# -- in a pipe


def test_in_a_pipe_there_is_only_the_summary(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--latency", "--latency-color", "hi")
    assert (answered.code, answered.out) == (0, "Hi \N{GRINNING FACE} bye\n".encode())
    check_summary(answered.err.splitlines())
    assert "\x1b" not in answered.err


def test_without_it_a_pipe_has_nothing_of_it(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--latency-color", "hi")
    assert (answered.out, answered.err) == ("Hi \N{GRINNING FACE} bye\n".encode(), "")


def test_a_terminal_behind_cat_is_a_pipe(emoji_gguf: Path) -> None:
    command = f"{NEXTOK} -t 1 -m {emoji_gguf} --latency --latency-color hi | cat > /dev/null"
    output = pexpect.run(shlex.join(["/bin/sh", "-c", command]), timeout=60).decode()
    assert DRAWING not in output
    drawn = COLORS.sub("", output).replace("\x1b[2K", "")  # on a busy machine a status was there
    check_summary(drawn.splitlines()[-2:])


def test_the_forms_for_programs_are_as_they_were(ask: Ask, emoji_gguf: Path) -> None:
    for form in ("--json", "--jsonl"):
        answered = ask("-m", emoji_gguf, "--latency", "--latency-color", form, "hi")
        assert answered.lines[-1]["finish_reason"] == "eos"
        check_summary(answered.err.splitlines())


def test_who_goes_away_is_told_nothing(endless_gguf: Path) -> None:
    command = f"{NEXTOK} -t 1 -c 0 -m {endless_gguf} --latency hi | head -c 10"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"la li la l", b"")


def test_a_setting_like_any_other(
    ask: Ask, emoji_gguf: Path, config_file: Callable[[str], Path]
) -> None:
    check_summary(ask("-m", emoji_gguf, "hi", env={"NEXTOK_LATENCY": "1"}).err.splitlines())
    config_file("[defaults]\nlatency = true\nlatency_color = true\n")
    check_summary(ask("-m", emoji_gguf, "hi").err.splitlines())
    assert ask("-m", emoji_gguf, "--no-latency", "hi").err == ""


# -- at a terminal


@pytest.mark.parametrize("dimensions", [(24, 80), (6, 40), (4, 20)])
def test_it_is_drawn_and_leaves_the_answer_and_a_summary(
    terminal: Terminal, loop_gguf: Path, dimensions: tuple[int, int]
) -> None:
    arguments = ("-m", str(loop_gguf), *LONG, "hi")
    child = terminal(*arguments, "--latency", dimensions=dimensions)
    output = child.rest()
    assert DRAWING in output
    written, whole = (
        unwrapped(text, dimensions) for text in (output, "la li " * 120 + "\r\n")
    )  # fmt: skip
    assert written.startswith(whole.rstrip())
    check_summary_text(written[len(whole.rstrip()) :])


def unwrapped(output: str, dimensions: tuple[int, int]) -> str:
    """All rows of the screen and those that have left it, one after the other."""
    rows, columns = dimensions
    screen = pyte.HistoryScreen(columns, rows, history=10000)
    pyte.Stream(screen).feed(output)
    past = ["".join(row[x].data for x in range(columns)) for row in screen.history.top]
    return "".join([*past, *screen.display]).rstrip()


def unwrapped_lines(lines: list[str]) -> str:
    """The summary of a screen of 80 columns, on one."""
    return "".join(line if len(line) == 80 else f"{line} " for line in lines).rstrip()


def check_summary_text(text: str) -> None:
    """The summary's two lines, wrapped as it may be."""
    assert re.fullmatch(rf"\s*{TOKENS}\s+{ACCOUNT}", text), text


def test_an_interrupt_takes_it_away(terminal: Terminal, endless_gguf: Path) -> None:
    child = terminal("-m", str(endless_gguf), "-c", "0", "--latency", "hi")
    child.logfile_read = io.BytesIO()
    for _ in range(3):
        child.expect_exact(DRAWING)
    child.sendintr()
    child.rest()
    assert child.signalstatus == signal.SIGINT
    lines = child.on_screen(child.logfile_read.getvalue().decode())
    assert lines[-1] == "nextok: interrupted"
    tokens = next(place for place, line in enumerate(lines) if line.startswith("TTFT"))
    check_summary_text(unwrapped_lines(lines[tokens:-1]))
    assert set("".join(lines[: tokens - 1])) <= set("la i^C")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_terminal_without_codes_gets_the_summary(
    terminal: Terminal, loop_gguf: Path, environment: dict[str, str]
) -> None:
    arguments = ("-m", str(loop_gguf), *LONG, "--latency", "--latency-color", "hi")
    output = terminal(*arguments, **environment).rest()
    assert "\x1b" not in output
    check_summary(output.splitlines()[-2:])


def test_without_colours_it_is_drawn_without_them(terminal: Terminal, loop_gguf: Path) -> None:
    arguments = ("-m", str(loop_gguf), *LONG, "--latency", "--latency-color", "hi")
    output = terminal(*arguments, NO_COLOR="1").rest()
    assert DRAWING in output
    assert set(COLORS.findall(output)) == {"0"}


def test_where_there_are_no_bars_there_is_ascii(terminal: Terminal, loop_gguf: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    output = terminal("-m", str(loop_gguf), *LONG, "--latency", "hi", **locale).rest()
    assert DRAWING in output
    assert output.split("tokens/s")[0].isascii() and "?" not in output.split("ITL")[0]


def test_the_forms_for_programs_are_not_drawn_over(terminal: Terminal, loop_gguf: Path) -> None:
    arguments = ("-m", str(loop_gguf), *LONG, "--latency", "--latency-color", "hi")
    output = terminal(*arguments, "--jsonl").rest()
    assert DRAWING not in output
    *lines, tokens, account = output.splitlines()
    assert all(line.startswith("{") and line.endswith("}") for line in lines)
    check_summary([COLORS.sub("", tokens), COLORS.sub("", account)])


# -- colours


def test_text_is_tinted(terminal: Terminal, loop_gguf: Path) -> None:
    output = terminal("-m", str(loop_gguf), *LONG, "--latency-color", "hi").rest()
    assert {"22;39"} < set(COLORS.findall(output)) <= {"32", "33", "31", "1;31", "22;39"}
    assert COLORS.sub("", output) == "la li " * 120 + "\r\n"


def test_reasoning_is_not_tinted(terminal: Terminal, thinking_gguf: Path) -> None:
    arguments = ("-m", str(thinking_gguf), *LONG, "--latency-color", "hi")
    output = terminal(*arguments).rest()
    assert COLORS.findall(output) == ["2", "0"]
    assert output.startswith("\x1b[2mword0 word1 ")


def test_colours_where_there_are_to_be_none(terminal: Terminal, loop_gguf: Path) -> None:
    arguments = ("-m", str(loop_gguf), *LONG, "--latency-color", "hi")
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in terminal(*arguments, **environment).rest()


# -- the summary


def made(*gaps: float, drafted: int = 0) -> tuple[Timings, LatencyMeter]:
    """0.5 s of waiting, 1 s of prefill; the text took 0.25 s to show, the end 0.15 s."""
    watch, meter = Stopwatch(10.0), LatencyMeter()
    watch.prefill(10.5, done=False)
    watch.prefill(11.5, done=True)
    at = 11.502
    meter.start(10.0)
    for index, gap in enumerate((0.002, *gaps)):
        at += gap if index else 0
        watch.token(at, gap)
        meter.token(Token(index, 0, "", at, gap, index < drafted))
    watch.rendered(0.25)
    return watch.timings(at + 0.4), meter


def test_the_lines_of_an_answer() -> None:
    timings, meter = made(*[0.1] * 9, 0.7, drafted=4)
    assert tokens_line(timings, meter.reading()) == (
        "TTFT 1.502 s · ITL p50 100.0 p95 430.0 max 700.0 ms · 6.3 tokens/s · "
        "4 of 11 tokens drafted · 1 stall"
    )
    assert account_line(timings, 11, 0.75) == (
        "load 0.75 + queue 0.50 + prefill 1.00 + decode 1.75 + rendering 0.25 = 4.25 s"
    )


def test_the_start_of_the_process_is_a_part() -> None:
    timings, _ = made(0.1, 0.1)
    assert account_line(timings, 3, 0.75, 0.125) == (
        "start 0.12 + load 0.75 + queue 0.50 + prefill 1.00 + decode 0.35 + rendering 0.25 = 2.98 s"
    )


def test_a_chat_loads_nothing_and_has_said_its_rates() -> None:
    timings, meter = made(0.1, 0.1)
    assert tokens_line(timings, meter.reading(), rates=False) == (
        "ITL p50 100.0 p95 100.0 max 100.0 ms"
    )
    assert account_line(timings, 3, None) == (
        "queue 0.50 + prefill 1.00 + decode 0.35 + rendering 0.25 = 2.10 s"
    )


def test_one_token_and_none() -> None:
    timings, meter = made()
    assert tokens_line(timings, meter.reading()) == "TTFT 1.502 s"
    nothing = Stopwatch(10.0).timings(10.25)
    assert tokens_line(nothing, None) == ""
    assert account_line(nothing, 0, 1.0) == (
        "load 1.00 + queue 0.25 + prefill 0.00 + decode 0.00 = 1.25 s"
    )


def test_no_token_at_all_has_a_summary(ask: Ask, emoji_gguf: Path) -> None:
    lines = ask("-m", emoji_gguf, "-n", "0", "--latency", "hi").err.splitlines()
    assert len(lines) == 1 and re.fullmatch(ACCOUNT, lines[0])
