"""The line editor as a person sees it: in a pseudo-terminal, through a screen emulator."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]
BOTTOM = "toy  ▰▱▱▱▱▱▱▱ 1,204/8,192"
LOOP = Path(__file__).with_name("line_loop.py")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_a_line_is_edited_sent_and_recalled(line_loop: Start) -> None:
    screen = line_loop()
    screen.send("helo")
    screen.key("left")
    screen.send("l")
    screen.key("enter")
    screen.wait_for("read 'hello'")
    screen.key("up", "enter")
    screen.wait_until(lambda: screen.lines().count("read 'hello'") == 2)
    screen.key("ctrl-d")
    assert screen.wait() == 0
    assert screen.lines() == ["> hello", "read 'hello'", "> hello", "read 'hello'", ">", "left"]
    assert screen.modes_restored(), screen.left_behind()


def test_what_is_below_the_text_goes_away_with_it(line_loop: Start) -> None:
    screen = line_loop("--bottom")
    screen.wait_until(lambda: screen.lines() == [">", BOTTOM])
    screen.send("/mo")
    screen.key("tab")
    menu = [" /model   change the model", " /models  list them"]
    screen.wait_until(lambda: screen.lines() == ["> /model", *menu, BOTTOM])
    screen.key("tab", "down")
    screen.wait_until(lambda: screen.lines() == ["> /models", *menu, BOTTOM])
    screen.key("shift-tab", "enter")
    screen.wait_until(lambda: screen.lines() == ["> /model", BOTTOM])
    screen.send(" toy")
    screen.key("alt-enter")
    screen.send("b")
    screen.wait_until(lambda: screen.lines() == ["> /model toy", ". b", BOTTOM])
    screen.key("ctrl-r")
    screen.wait_until(lambda: "search:" in screen.lines())
    screen.key("ctrl-c", "enter", "ctrl-d")
    assert screen.wait() == 0
    assert screen.lines() == ["> /model toy", ". b", "read '/model toy\\nb'", ">", "left"]
    assert b"\x1b[0;36;1m" in screen.raw


def test_without_colours_there_are_none(line_loop: Start) -> None:
    screen = line_loop("--bottom", "--no-color")
    screen.send("/mo")
    screen.key("tab", "tab")
    screen.wait_for(" /models  list them")
    screen.key("ctrl-r", "ctrl-c", "ctrl-c", "ctrl-d")
    assert screen.wait() == 0
    assert set(re.findall(rb"\x1b\[([0-9;]*)m", screen.raw)) == {b"0"}
    assert screen.modes_restored(), screen.left_behind()


def test_wide_and_wrapped_text_is_erased_cell_by_cell(line_loop: Start) -> None:
    screen = line_loop("--bottom", columns=20)
    for typed, rows in (
        ("世" * 15, ["> " + "世" * 9, "  " + "世" * 6]),
        ("a" * 50, ["> " + "a" * 18, "  " + "a" * 18, "  " + "a" * 14]),
    ):
        screen.send(typed)
        screen.wait_until(lambda rows=rows: screen.lines() == [*rows, "toy  1,204/8,192"])
        for _ in typed:
            screen.key("backspace")
        screen.wait_until(lambda: screen.lines() == [">", "toy  1,204/8,192"])
        assert screen.cursor == (2, 0)


def test_the_window_changes_its_width_while_text_is_typed(line_loop: Start) -> None:
    screen = line_loop()
    text = "The quick brown fox jumps over the lazy dog, and then it sleeps"
    screen.send(text)
    screen.wait_until(lambda: screen.lines() == ["> " + text])
    screen.resize(30, 24)
    rows = ["> The quick brown fox jumps ov", "  er the lazy dog, and then it", "   sleeps"]
    screen.wait_until(lambda: screen.lines() == rows)
    screen.send(" in the")
    screen.wait_until(lambda: screen.lines() == [*rows[:2], "   sleeps in the"])
    screen.resize(100, 24)
    screen.send(" sun")
    screen.wait_until(lambda: screen.lines() == [f"> {text} in the sun"])
    screen.key("enter")
    screen.wait_for(f"read '{text} in the sun'")


def test_a_long_paste_is_one_message(line_loop: Start, tmp_path: Path) -> None:
    history = tmp_path / "history"
    lines = [f"line {number}\t世界" for number in range(298)]
    text = "\n".join([*lines[:100], "", "/exit", *lines[100:]])
    screen = line_loop("--history", history)
    for _ in range(2):
        screen.paste(text)
        screen.wait_for("> [300 lines]")
        screen.key("enter")
        screen.wait_for("line 297\\t世界' quoted")
        screen.key("ctrl-l")
        screen.wait_until(lambda: screen.lines() == [">"])
    screen.key("up")
    screen.wait_for("> [300 lines]")
    screen.key("enter")
    screen.wait_for("line 297\\t世界'")
    screen.key("ctrl-d")
    assert screen.wait() == 0
    (entry,) = map(json.loads, history.read_text("utf-8").splitlines())
    assert hashlib.sha256(entry.encode()).digest() == hashlib.sha256(text.encode()).digest()
    assert screen.modes_restored(), screen.left_behind()


@pytest.mark.parametrize(
    ("text", "label"),
    [("The lazy dog,\n\tand 世界.\n" * 20_000 + "\\", "[40,001 lines]"),
     ("a" * 500_000, "[500,000 characters]"), ('"""\n' * 9_000, "[9,001 lines]")],
)  # fmt: skip
def test_a_pasted_book_is_folded(line_loop: Start, tmp_path: Path, text: str, label: str) -> None:
    """It is drawn at no key, and yet it is what is sent, remembered and edited, exactly."""
    script = tmp_path / "editor"
    # One more line: else what is brought back would look like what was edited.
    script.write_text('#!/bin/sh\nsed -i "1s/^/Look:\\\\n/" "$1"\n')
    script.chmod(0o755)
    screen = line_loop("--bottom", VISUAL=str(script))
    screen.paste(text)
    screen.wait_for(f"> {label}\n")
    screen.send("ab")
    screen.key("backspace", "backspace", "enter")
    screen.wait_for(f"read {len(text):,} characters {digest(text)} quoted\n>")
    screen.key("ctrl-l", "up", "ctrl-g")
    means_more = text.startswith('"""') or text.endswith("\\")
    recalled = f'"""\n{text}\n"""' if means_more else text
    edited = "Look:\n" + recalled
    screen.wait_for(f"> [{edited.count(chr(10)) + 1:,} lines]")
    screen.key("enter")
    screen.wait_for(f"read {len(edited):,} characters {digest(edited)}")
    screen.key("ctrl-d")
    assert screen.wait() == 0
    assert not screen.left_behind()


@pytest.mark.parametrize(
    ("text", "label"),
    [("/" * 4_001, "[4,001 characters]"), ("\tx\\\n" * 40, "[41 lines]")],
)
def test_more_than_a_screenful_is_folded(
    line_loop: Start, tmp_path: Path, text: str, label: str
) -> None:
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/seen\n')
    script.chmod(0o755)
    screen = line_loop("--bottom", rows=60, VISUAL=str(script))
    screen.paste(text)
    screen.wait_for(f"> {label}\n")
    screen.key("ctrl-g")
    screen.wait_until(lambda: (tmp_path / "seen").exists() and f"> {label}" in screen.text())
    assert (tmp_path / "seen").read_text() == text
    screen.key("enter")
    screen.wait_until(lambda: repr(text) in "".join(screen.lines()))
    screen.wait_for("quoted\n>")


@pytest.mark.parametrize("text", ["a" * 4_000, "\n".join("abc" for _ in range(40))])
def test_what_fits_on_a_screen_is_not_folded(line_loop: Start, text: str) -> None:
    screen = line_loop(rows=60)
    screen.paste(text)
    screen.wait_until(lambda: "".join(screen.lines()).count("a") == text.count("a"))
    assert "[" not in screen.text()


def test_a_folded_text_is_one_character_among_others(line_loop: Start, tmp_path: Path) -> None:
    """It can be walked over, erased, cut, and put into a later line."""
    book = "0123456789" * 2_000
    screen = line_loop()
    screen.send("a  b")
    screen.key("left", "left")
    screen.paste(book)
    screen.wait_for("> a [20,000 characters] b")
    assert screen.cursor == (2 + len("a [20,000 characters]"), 0)
    screen.key("left", "left")
    screen.wait_until(lambda: screen.cursor == (3, 0))
    screen.key("right", "right", "backspace")
    screen.wait_until(lambda: screen.lines()[0] == "> a  b")
    screen.key("ctrl-_")
    screen.wait_for("> a [20,000 characters] b")
    screen.key("ctrl-u")
    screen.send("c")
    screen.key("end", "enter")
    screen.wait_for("read 'c b'")
    screen.key("ctrl-y", "enter")
    screen.wait_for(f"read 20,002 characters {digest('a ' + book)}")


def test_several_lines_typed_without_a_paste_are_several_messages(line_loop: Start) -> None:
    screen = line_loop()
    screen.send('one\rtwo\\\rthree\r"""\rfour\r/exit\r"""\r\x04')
    assert screen.wait() == 0
    said = [line for line in screen.lines() if line.startswith("read")]
    assert said == ["read 'one'", "read 'two\\nthree'", "read 'four\\n/exit' quoted"]


def test_keys_typed_during_a_reply_wait_for_the_prompt(line_loop: Start, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    screen = line_loop("--gate", gate)
    screen.send("one\r")
    screen.wait_for("busy")
    screen.send("two\rthree\x0afour\x1b[D!\r\x04")
    assert screen.lines() == ["> one", "read 'one'", "busy"]
    gate.touch()
    assert screen.wait() == 0
    assert screen.lines()[3:] == [
        *("> two", "read 'two'", "busy", "> three", ". fou!r"),
        *("read 'three\\nfou!r'", "busy", ">", "left"),
    ]


def test_the_end_key_neither_sends_nor_loses_a_text(line_loop: Start) -> None:
    screen = line_loop()
    screen.send("abc")
    screen.key("ctrl-d", "ctrl-d", "left", "ctrl-d")
    screen.wait_until(lambda: screen.lines() == ["> ab"])
    screen.key("backspace", "backspace", "ctrl-d")
    assert screen.wait() == 0
    assert screen.lines() == [">", "left"]


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
     signal.SIGALRM, signal.SIGABRT, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU],
)  # fmt: skip
def test_a_signal_ends_the_prompt_and_leaves_the_terminal(line_loop: Start, number: int) -> None:
    screen = line_loop("--bottom")
    screen.send("typed")
    screen.wait_for("> typed")
    screen.signal(number)
    assert screen.wait() == 0
    assert screen.lines() == ["> typed", f"terminated {int(number)}"]
    assert screen.modes_restored(), screen.left_behind()


def test_an_interrupt_signal_is_the_key(line_loop: Start) -> None:
    screen = line_loop()
    screen.send("typed")
    screen.wait_for("> typed")
    screen.signal(signal.SIGINT)
    screen.wait_until(lambda: screen.lines() == [">"])
    screen.signal(signal.SIGINT)
    screen.wait_for("note: Ctrl-D or /bye leaves")
    screen.signal(signal.SIGINT)
    assert screen.wait() == 0
    assert screen.lines()[1:] == [">", "left"]


def test_a_closed_window_is_a_hang_up(line_loop: Start, tmp_path: Path) -> None:
    screen = line_loop(stderr=tmp_path / "err")
    screen.hang_up()
    screen.wait()
    assert (tmp_path / "err").read_text().splitlines() == ["terminated 1"]


def test_a_fault_elsewhere_leaves_the_terminal_too(line_loop: Start, tmp_path: Path) -> None:
    screen = line_loop("--break-bottom", tmp_path / "broken")
    screen.wait_for(">")
    (tmp_path / "broken").touch()
    screen.send("typed")
    assert screen.wait() == 1
    assert screen.lines()[-1] == "ValueError: no bottom line"
    assert screen.modes_restored(), screen.left_behind()


@pytest.mark.parametrize("by", [0, signal.SIGTSTP, signal.SIGTTOU, signal.SIGTTIN])
def test_a_stopped_prompt_comes_back_as_it_was(terminal: Start, tmp_path: Path, by: int) -> None:
    """By its key; by a signal; and by one after which it is for the shell to set the modes."""
    modes, pid = tmp_path / "modes", tmp_path / "pid"
    shell = ["/bin/sh"] if by in (0, signal.SIGTSTP) else ["bash", "--norc"]
    screen = terminal(*shell, "-i", PS1="$ ", ENV="")
    screen.wait_for("$")
    screen.send(f"stty -g > {modes}; {sys.executable} {LOOP} --bottom --pid {pid}; stty -g\n")
    screen.wait_for(BOTTOM)
    screen.send("typed")
    screen.wait_for("> typed\n")
    if by:
        screen.signal(by, int(pid.read_text()))
    else:
        screen.key("ctrl-z")
    screen.wait_for("Stopped")
    screen.send(f"stty -g | cmp - {modes} && echo the same; fg\n")
    screen.wait_for("the same\n")
    screen.wait_until(lambda: screen.lines()[-2:] == ["> typed", BOTTOM])
    screen.send(" more\r")
    screen.wait_for("read 'typed more'")
    screen.key("ctrl-d")
    screen.wait_for(modes.read_text().strip()[:80])


def test_stopped_without_being_asked_it_goes_on_as_it_was(line_loop: Start) -> None:
    """Whoever has the terminal meanwhile may change its modes."""
    screen = line_loop("--bottom")
    screen.send("typed")
    screen.wait_for("> typed\n" + BOTTOM)
    screen.signal(signal.SIGSTOP)
    screen.wait_until_stopped()
    screen.restore_modes()
    screen.signal(signal.SIGCONT)
    screen.wait_until(lambda: "modes" in screen.left_behind())
    screen.send(" more\r")
    screen.wait_for("read 'typed more'")
    screen.key("ctrl-d")
    assert screen.wait() == 0
    assert not screen.left_behind()


@pytest.mark.parametrize("keys", [("ctrl-g",), ("ctrl-x", "ctrl-e")])
def test_the_users_own_editor(line_loop: Start, tmp_path: Path, keys: tuple[str, ...]) -> None:
    script = tmp_path / "an editor"
    script.write_text('#!/bin/sh\nstty -a | grep -o " echo "\ncat "$1"\necho "/and" >> "$1"\n')
    script.chmod(0o755)
    screen = line_loop("--bottom", VISUAL=shlex.quote(str(script)), EDITOR="false")
    screen.send("typed ")
    screen.key(*keys)
    screen.wait_for("> typed /and\n" + BOTTOM)
    assert screen.lines()[0] == " echo"
    screen.key("ctrl-a")
    screen.send("edited\\")
    screen.key("ctrl-e", "enter")
    screen.wait_for("read 'edited\\\\typed /and'")
