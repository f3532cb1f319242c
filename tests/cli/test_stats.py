"""`nextok stats`: figures from rows made by hand, on a terminal, in a pipe, for a program."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, Row
from nextok.backends.journal_row import LoggedModel
from nextok.cli.asked_journal import chosen
from nextok.cli.bars import bar
from nextok.cli.units import brief

NOW = time.time()
Ask = Callable[..., Any]
Terminal = Callable[..., Any]


def row(**figures: Any) -> Row:
    usual: dict[str, Any] = {
        "ended_at": NOW, "command": "generate", "model": "small", "finish": "eos",
        "completion_tokens": 1, "version": "0.1.0",
    }  # fmt: skip
    return Row(**{**usual, **figures})


def timed(ttft: float, itl: float, **figures: Any) -> Row:
    names = ("itl_p50_seconds", "itl_p95_seconds", "itl_p99_seconds", "itl_max_seconds")
    times = {name: itl * (index + 1) for index, name in enumerate(names)}
    return row(ttft_seconds=ttft, **times, **figures)


ROWS = [
    timed(0.1, 0.010, completion_tokens=10),
    timed(0.2, 0.020, completion_tokens=20, finish="stop", stop="END"),
    timed(0.3, 0.030, completion_tokens=60),
    timed(0.4, 0.020, completion_tokens=10, finish="interrupted"),
    timed(5.0, 0.5, model="Large-Q8_0", quantization="Q8_0", completion_tokens=400,
          finish="length", ended_at=NOW - 9 * 86400),
    row(completion_tokens=0, finish="error", model="Large-Q8_0", quantization="Q8_0"),
]  # fmt: skip


@pytest.fixture
def journal(state_folder: Path) -> Journal:
    return Journal(state_folder / "journal.sqlite")


@pytest.fixture
def filled(journal: Journal) -> Journal:
    assert all(map(journal.add, ROWS))
    return journal


def test_the_object(ask_alone: Ask, filled: Journal) -> None:
    told = ask_alone("stats", "--json").object
    assert (told["since"], told["generations"]) == (None, 6)
    assert told["finish_reasons"] == {
        "eos": 2, "stop": 1, "length": 1, "context": 0, "interrupted": 1, "disconnected": 0,
        "timeout": 0, "stalled": 0, "error": 1,
    }  # fmt: skip
    aborted = told["aborted"]
    assert (aborted["generations"], aborted["rate"]) == (1, pytest.approx(1 / 6, abs=1e-6))
    # 10, 20 and 60 tokens got as far as 10: 0, 10 and 50 more, of 20 ms each
    assert aborted["saved"] == {
        "estimate": True, "seconds": 0.2, "quartiles_s": [0.1, 0.6], "generations": 1,
        "without_an_estimate": 0, "compared_with": 3,
    }  # fmt: skip
    tokens = told["completion_tokens"]
    assert (tokens["total"], tokens["mean"], tokens["max"]) == (
        500,
        pytest.approx(500 / 6, abs=1e-3),
        400,
    )
    assert (tokens["p50"], tokens["p95"]) == (15, pytest.approx(315))
    assert tokens["longest_1_percent"] == {"generations": 1, "share": 0.8}
    bins = [(one["from"], one["to"], one["generations"]) for one in tokens["histogram"]]
    assert [one for one in bins if one[2]] == [
        (0, 0, 1), (10, 19, 2), (20, 49, 1), (50, 99, 1), (200, 499, 1),
    ]  # fmt: skip
    small, large = told["models"]
    assert (small["model"], small["quantization"], small["generations"]) == ("small", None, 4)
    assert small["ttft_s"] == {"p50": 0.25, "p95": 0.385, "p99": 0.397, "max": 0.4}
    assert small["itl_ms"] == {"p50": 20, "p95": 40, "p99": 60, "max": 120}
    assert (large["quantization"], large["generations"]) == ("Q8_0", 2)
    assert large["ttft_s"] == {"p50": 5, "p95": 5, "p99": 5, "max": 5}


def test_a_state_folder_that_is_a_file_is_no_empty_journal(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "nextok").write_text("")
    ran = ask("stats", env={"XDG_STATE_HOME": str(tmp_path)})
    ran.check_failed(1, "journal.sqlite cannot be used: Not a directory")


def test_in_a_pipe_each_figure_has_a_line(ask_alone: Ask, filled: Journal) -> None:
    answered = ask_alone("stats")
    assert (answered.code, answered.err) == (0, "")
    told = dict(re.split("  +", line, maxsplit=1) for line in answered.out.decode().splitlines())
    assert told["generations"] == "6"
    assert told["ended eos"] == "2 (33.3 %)"
    assert told["aborted"].startswith("1 (16.7 %")
    assert (
        told["saved by aborting"]
        == "0.2 s (an estimate for 1 of them from 3 completed, quartiles 0.1 s to 0.6 s)"
    )
    assert (told["tokens"], told["tokens p50"], told["tokens max"]) == ("500", "15", "400")
    assert told["tokens of the longest 1 %"] == "80.0 % (generations: 1)"
    assert told["with 10-19 tokens"] == "2"
    assert told["TTFT small"] == "p50 250 ms, p95 385 ms, p99 397 ms, max 400 ms"
    assert told["ITL small"] == (
        "p50 20 ms, p95 40 ms, p99 60 ms, max 120 ms "
        "(the median generation's; max is the longest gap of all)"
    )


def test_nothing_since_then_is_a_figure_in_a_pipe(ask_alone: Ask, filled: Journal) -> None:
    answered = ask_alone("stats", "--since", "2999-01-01")
    assert (answered.code, answered.out, answered.err) == (0, b"generations  0\n", "")


@pytest.mark.parametrize(
    ("arguments", "generations"),
    [(("--since", "7d"), 5), (("--since", "1h", "-m", "large"), 1), (("-m", "big"), 2), ((), 6)],
)
def test_a_part_of_the_journal(
    ask_alone: Ask,
    filled: Journal,
    config_file: Callable[[str], Path],
    arguments: tuple[str, ...],
    generations: int,
) -> None:
    """The model that answers when none is named chooses nothing here."""
    config_file('[aliases]\nbig = "Large-Q8_0.gguf"\n[defaults]\nmodel = "small"\n')
    assert ask_alone("stats", "--json", *arguments).object["generations"] == generations


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Small", ["small"]),
        ("SMALL-q8_0", ["small-Q8_0"]),
        ("q8", ["small-Q8_0", "large-Q8_0"]),
        ("large", ["large-Q8_0"]),
        ("~/models/large-Q8_0.gguf", ["large-Q8_0"]),
        ("mine", ["large-Q8_0"]),
    ],
)
def test_a_model_by_its_name_or_a_part_of_it(text: str, names: list[str]) -> None:
    models = [
        LoggedModel(id=number, name=name, quantization=None)
        for number, name in enumerate(("small", "small-Q8_0", "large-Q8_0"))
    ]
    found = chosen(models, text, {"mine": "/x/large-Q8_0.gguf"})
    assert [one.name for one in found] == names


def test_a_model_that_was_never_used(ask_alone: Ask, filled: Journal) -> None:
    ask_alone("stats", "-m", "gpt").check_failed(2, "'gpt'", "small, Large-Q8_0")


def test_an_empty_journal_is_no_error(ask_alone: Ask, journal: Journal, terminal: Terminal) -> None:
    for command in ("stats", "log"):
        answered = ask_alone(command)
        said = b"generations  0\n" if command == "stats" else b""
        assert (answered.code, answered.out, answered.err) == (0, said, "")
        child = terminal(command)
        assert "the journal is empty" in " ".join(child.lines())
        assert child.exitstatus == 0
    assert not journal.path.exists()


def test_a_damaged_journal_is_an_error(ask_alone: Ask, filled: Journal) -> None:
    filled.path.write_text("no database" * 1000)
    ask_alone("stats").check_failed(1, "damaged", "nextok forget")


# On a terminal.


def screen(terminal: Terminal, *arguments: str, columns: int, **environment: str) -> list[str]:
    child = terminal(*arguments, dimensions=(70, columns), COLUMNS=str(columns), **environment)
    lines: list[str] = child.lines()
    return lines


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(
    terminal: Terminal, filled: Journal, columns: int
) -> None:
    """One that were would go on at the beginning of the next: all of ours begin in their place."""
    lines = screen(terminal, "stats", columns=columns)
    assert lines[0].startswith("6 generations · 500 tokens")
    starts = ("6 ", "How they", "Output", "Latency", "  ")
    assert [line for line in lines if not line.startswith(starts)] == []


def test_the_screen(terminal: Terminal, filled: Journal) -> None:
    lines = screen(terminal, "stats", columns=80)
    endings = lines[lines.index("How they ended") + 1 :]
    assert re.fullmatch(r"  eos +2   33\.3 % █{20,}▏?.?", endings[0])
    assert {line.split()[0] for line in endings[:5]} == {
        "eos", "stop", "length", "error", "interrupted",
    }  # fmt: skip
    text = "\n".join(lines)
    assert "1 aborted (16.7 %): 1 interrupted" in text
    assert "an estimate" in text
    assert re.search(r"^ +10-19 │█+ 2  p50$", text, re.MULTILINE)
    assert re.search(r"^ +200-499 │█+ 1  p95 p99$", text, re.MULTILINE)
    assert "p50 15 · p95 315 · p99 383 · max 400 · mean 83" in text
    assert "the longest 1 % (1 generation) took 80.0 % of all tokens" in text
    assert "  TTFT  250 ms  385 ms  397 ms  400 ms" in lines
    assert "  ITL    20 ms   40 ms   60 ms  120 ms" in lines
    assert "  Large-Q8_0 (2)" in lines  # its name says how it is quantized


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NEXTOK_COLOR": "never"}]
)
def test_without_colour(terminal: Terminal, filled: Journal, environment: dict[str, str]) -> None:
    output = terminal("stats", **environment).rest()
    assert "\x1b" not in output
    assert "█" in output


def test_a_terminal_without_such_characters(terminal: Terminal, filled: Journal) -> None:
    output = terminal("stats", PYTHONIOENCODING="ascii", NO_COLOR="1").rest()
    assert output.isascii()
    assert "|##" in output


def test_a_name_that_drives_a_terminal(terminal: Terminal, journal: Journal) -> None:
    assert journal.add(timed(1.0, 1.0, model="evil\x1b[31m\nname"))
    for command in ("stats", "log"):
        output = terminal(command, NO_COLOR="1").rest()
        assert "\x1b" not in output
        assert "evil" in output


# Its parts.


@pytest.mark.parametrize(
    ("value", "fine", "coarse"),
    [(0, "", ""), (1, "▏", "#"), (50, "█████", "#####"), (55, "█████▌", "######"),
     (100, "██████████", "##########"), (94, "█████████▍", "#########")],
)  # fmt: skip
def test_a_bar_is_exact_to_an_eighth(value: int, fine: str, coarse: str) -> None:
    assert bar(value, 100, 10, fine=True) == fine
    assert bar(value, 100, 10, fine=False) == coarse


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00004, "0.0 ms"), (0.0083, "8.3 ms"), (0.12, "120 ms"), (0.9994, "999 ms"),
     (1.234, "1.23 s"), (12.34, "12.3 s"), (123.4, "123 s"), (9999.0, "9999 s"),
     (36000.0, "10 h")],
)  # fmt: skip
def test_a_time_has_three_figures_and_a_unit(seconds: float, text: str) -> None:
    assert brief(seconds) == text
