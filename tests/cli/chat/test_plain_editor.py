"""The line editor where a terminal knows no escape codes."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]


@pytest.fixture
def dumb(line_loop: Start) -> Start:
    return lambda *options, **others: line_loop(*options, TERM="dumb", **others)


def test_messages_are_read_and_no_escape_code_is_written(dumb: Start, tmp_path: Path) -> None:
    history = tmp_path / "history"
    screen = dumb("--bottom", "--history", history)
    screen.send("helo")
    screen.key("backspace")
    screen.send("lo\n")
    screen.wait_for("read 'hello'")
    for line in ("one\\", "two", '"""', "three", '"""'):
        screen.send(line + "\n")
    screen.wait_for("read 'three' quoted")
    assert "read 'one\\ntwo'" in "\n".join(screen.lines())
    screen.key("ctrl-d")
    assert screen.wait() == 0
    assert b"\x1b" not in screen.raw
    assert screen.lines()[-1] == "left"
    assert screen.modes_restored(), screen.left_behind()
    assert history.read_text() == '"hello"\n"one\\ntwo"\n"\\"\\"\\"\\nthree\\n\\"\\"\\""\n'


def test_the_end_key_neither_sends_nor_loses_a_text(dumb: Start) -> None:
    screen = dumb()
    screen.send("abc")
    screen.key("ctrl-d", "ctrl-d")
    screen.send("d\n")
    screen.wait_for("read 'abcd'")


def test_the_interrupt_key_clears_explains_and_leaves(dumb: Start) -> None:
    screen = dumb()
    screen.send("one\\\n")
    screen.wait_for("\n.")
    screen.send("typed")
    screen.wait_for("typed")
    screen.key("ctrl-c")
    screen.wait_for("^C\n>")
    screen.send("anew\n")
    screen.wait_for("read 'anew'\n>")
    screen.key("ctrl-c")
    screen.wait_for("note: Ctrl-D or /bye leaves")
    screen.key("ctrl-c")
    assert screen.wait() == 0
    assert screen.lines()[-1] == "left"
    assert screen.modes_restored(), screen.left_behind()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_prompt(dumb: Start, number: int) -> None:
    screen = dumb("--default", "a draft")
    screen.wait_for("> a draft")
    screen.signal(number)
    assert screen.wait() == 0
    assert screen.lines() == ["> a draft", f"terminated {int(number)}"]
    assert screen.modes_restored(), screen.left_behind()


def test_keys_typed_during_a_reply_wait_for_the_prompt(dumb: Start, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    screen = dumb("--gate", gate)
    screen.send("one\n")
    screen.wait_for("busy")
    screen.send("two\rthree\\\rfour\r\x04")
    gate.touch()
    assert screen.wait() == 0
    assert [line[line.index("read") :] for line in screen.lines() if "read" in line] == [
        *("read 'one'", "read 'two'", "read 'three\\nfour'"),
    ]
    assert screen.lines()[-1] == "left"
