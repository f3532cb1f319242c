"""`nextok log`: the last generations, and the old ones taken away."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, Row

NOW = time.time()
DAY = 86400
Ask = Callable[..., Any]
Terminal = Callable[..., Any]


def row(**figures: Any) -> Row:
    usual: dict[str, Any] = {
        "ended_at": NOW, "command": "generate", "model": "small", "finish": "eos",
        "completion_tokens": 1, "version": "0.1.0",
    }  # fmt: skip
    return Row(**{**usual, **figures})


FULL = row(
    ended_at=1764450000.25, command="chat", model="Small-Q4_K_M", quantization="Q4_K_M", threads=2,
    prompt_tokens=31, cached_tokens=7, completion_tokens=12, finish="stop", stop="\nUser:",
    load_seconds=0.5, ttft_seconds=0.25, prefill_seconds=0.125, decode_seconds=1.5,
    total_seconds=2.0, itl_p50_seconds=0.0625, itl_p95_seconds=0.125, itl_p99_seconds=0.25,
    itl_max_seconds=0.375, seed=42,
)  # fmt: skip


@pytest.fixture
def journal(state_folder: Path) -> Journal:
    return Journal(state_folder / "journal.sqlite")


def lengths(ask_alone: Ask, *arguments: str) -> list[int]:
    """What the log lists, by the number of tokens."""
    told = ask_alone("log", "--json", *arguments).object["generations"]
    return [one["completion_tokens"] for one in told]


def test_the_object(ask_alone: Ask, journal: Journal) -> None:
    assert journal.add(FULL)
    assert ask_alone("log", "--json").object == {
        "generations": [
            {
                "time": "2025-11-29T21:00:00+00:00",
                "command": "chat",
                "model": "Small-Q4_K_M",
                "quantization": "Q4_K_M",
                "threads": 2,
                "prompt_tokens": 31,
                "cached_tokens": 7,
                "completion_tokens": 12,
                "finish_reason": "stop",
                "stop": "\nUser:",
                "seed": 42,
                "version": "0.1.0",
                "timings": {
                    "load_s": 0.5,
                    "prefill_s": 0.125,
                    "ttft_s": 0.25,
                    "itl_ms": {"p50": 62.5, "p95": 125, "p99": 250, "max": 375},
                    "decode_s": 1.5,
                    "total_s": 2.0,
                },
            }
        ]
    }


def test_what_there_is_not_is_null(ask_alone: Ask, journal: Journal) -> None:
    assert journal.add(row(completion_tokens=0, finish="interrupted"))
    (told,) = ask_alone("log", "--json").object["generations"]
    assert (told["prompt_tokens"], told["seed"], told["timings"]["itl_ms"]) == (None,) * 3
    assert ask_alone("log").out.split()[-3:] == [b"-", b"-", b"-"]


def test_the_last_ones_are_listed_the_newest_last(ask_alone: Ask, journal: Journal) -> None:
    assert all(journal.add(row(completion_tokens=number)) for number in range(25))
    assert lengths(ask_alone) == list(range(5, 25))
    assert lengths(ask_alone, "-n", "3") == [22, 23, 24]
    assert lengths(ask_alone, "--rows=1") == [24]
    assert len(ask_alone("log", "-n", "7").out.splitlines()) == 7


def test_a_part_of_them(ask_alone: Ask, journal: Journal) -> None:
    for number, model in enumerate(("a-small", "large", "a-small")):
        assert journal.add(row(model=model, completion_tokens=number, ended_at=NOW - number * DAY))
    assert lengths(ask_alone, "-m", "small") == [0, 2]
    assert lengths(ask_alone, "--since", "36h") == [0, 1]


def test_n_still_means_tokens_elsewhere(ask_alone: Ask, loop_gguf: Path) -> None:
    assert ask_alone("-m", loop_gguf, "-n", "2", "hi").out == b"la li \n"
    ask_alone("log", "--max-tokens", "3").check_failed(2, "`nextok log` has no option --max-tokens")
    ask_alone("stats", "-n", "3").check_failed(2, "`nextok stats` has no option -n")
    ask_alone("log", "-n", "0").check_failed(2, "-n must be a whole number from 1 to")


def test_a_line_in_a_pipe(ask_alone: Ask, journal: Journal) -> None:
    assert journal.add(FULL)
    local = datetime.fromtimestamp(FULL.ended_at).strftime("%Y-%m-%d %H:%M:%S")
    told = ask_alone("log").out.decode()
    assert told == (
        f"{local}  chat  Small-Q4_K_M  31  7  12  stop '\\nUser:'  250 ms  62 ms  2.00 s\n"
    )


@pytest.mark.parametrize(
    ("columns", "heads"),
    [
        (40, "ended tokens how it ended"),
        (60, "ended tokens how it ended TTFT ITL p50"),
        (80, "ended model tokens how it ended TTFT ITL p50"),
        (140, "ended command model prompt cached tokens how it ended TTFT ITL p50 total"),
    ],
)
def test_a_terminal_shows_what_it_has_room_for(
    terminal: Terminal, journal: Journal, columns: int, heads: str
) -> None:
    assert journal.add(FULL)
    lines = terminal("log", dimensions=(24, columns), COLUMNS=str(columns)).lines()
    assert " ".join(lines[0].split()) == heads
    assert len(lines) == 3
    assert "12" in lines[2] and "stop" in lines[2]


# Taking away.


def test_a_script_is_told_what_would_go(ask_alone: Ask, journal: Journal) -> None:
    assert journal.add(row(ended_at=NOW - 40 * DAY))
    asked = ask_alone("log", "--prune", "30d")
    asked.check_failed(2, "Remove 1 generation from before", "--yes")
    assert lengths(ask_alone) == [1]


def test_what_is_older_goes(ask_alone: Ask, journal: Journal) -> None:
    for age in (50, 31, 29, 0):
        assert journal.add(row(ended_at=NOW - age * DAY, completion_tokens=age))
    assert ask_alone("log", "--prune", "30d", "-y").code == 0
    assert lengths(ask_alone) == [29, 0]
    again = ask_alone("log", "--prune", "30d")
    assert (again.code, again.out, again.err) == (0, b"", "")


def test_prune_is_a_word_too(ask_alone: Ask, journal: Journal) -> None:
    for age in (50, 29):
        assert journal.add(row(ended_at=NOW - age * DAY, completion_tokens=age))
    assert ask_alone("log", "prune", "30d", "-y").code == 0
    assert lengths(ask_alone) == [29]
    form = "nextok log prune AGE|DATE|SIZE"
    ask_alone("log", "prune").check_failed(2, "say what is to go", form)
    ask_alone("log", "prune", "30", "days").check_failed(2, "in one word", form)
    ask_alone("log", "prune", "1d", "--prune", "2d").check_failed(2, "said twice")
    ask_alone("log", "prune", "soon").check_failed(2, "nextok log prune must be an age", "'soon'")
    ask_alone("log", "last").check_failed(2, "no word but prune, not 'last'", form)
    assert lengths(ask_alone) == [29]


def test_a_terminal_says_that_much_is_removed(terminal: Terminal, journal: Journal) -> None:
    assert journal.add(row())
    with closing(sqlite3.connect(journal.path)) as other:
        figures = "ended_at, command, model_id, completion_tokens, finish, version"
        other.executemany(
            f"INSERT INTO generation ({figures}) VALUES (?, 'chat', 1, 7, 'eos', '1')",
            [(float(moment),) for moment in range(5500)],
        )
        other.commit()
    said = terminal("log", "prune", "30d", "-y", dimensions=(24, 120)).rest()
    assert "removing 5,500 generations from the journal" in said
    assert "removed 5,500 generations from the journal, which takes " in said


def test_what_is_older_than_a_date_goes(ask_alone: Ask, journal: Journal) -> None:
    for year in (2023, 2024, 2025):
        moment = datetime(year, 6, 1, tzinfo=timezone.utc).timestamp()
        assert journal.add(row(ended_at=moment, completion_tokens=year))
    assert ask_alone("log", "--prune", "2024-01-01", "--yes").code == 0
    assert lengths(ask_alone) == [2024, 2025]


def test_the_oldest_beyond_a_size_go(ask_alone: Ask, journal: Journal) -> None:
    for number in range(300):
        assert journal.add(row(ended_at=NOW + number, completion_tokens=number))
    with journal.reading():
        pass  # all of it is in the file now
    whole = journal.size_bytes()
    rest = whole * 3 // 4
    assert ask_alone("log", "--prune", f"{rest}B", "-y").code == 0
    left = lengths(ask_alone, "-n", "1000")
    assert 10 < len(left) < 290
    assert left == list(range(300 - len(left), 300))
    assert journal.size_bytes() <= rest
    assert ask_alone("log", "--prune", f"{rest}B").code == 0  # nothing to ask about
    assert ask_alone("log", "--prune", "0B", "-y").code == 0
    assert lengths(ask_alone) == []


def test_pruning_goes_by_itself(ask_alone: Ask) -> None:
    ask_alone("log", "--prune", "1d", "-m", "x").check_failed(2, "leave out --since and --model")


def test_a_terminal_asks(terminal: Terminal, journal: Journal) -> None:
    assert journal.add(row(ended_at=NOW - 40 * DAY))
    for answer, count in (("n", 1), ("y", 0)):
        child = terminal("log", "--prune", "30d")
        child.expect(r"Remove 1 generation from before [-0-9: ]+\? \[y/N\] ")
        child.sendline(answer)
        child.rest()
        with journal.reading() as queries:
            assert queries.count_before(NOW) == count
