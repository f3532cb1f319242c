"""The keyboard of a chat before there is anything else of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from nextok.cli.chat.keyboard import own_keyboard
from nextok.cli.deadly_signals import DEADLY

Start = Callable[..., Any]


def waiting() -> int:
    """A program that has the keyboard, and nothing to do."""
    with own_keyboard(0):
        print("begun", flush=True)
        while True:
            time.sleep(0.01)


def ignoring() -> int:
    """The same under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return waiting()


def test_what_is_deadly() -> None:
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT} <= set(DEADLY)
    assert {signal.SIGUSR1, signal.SIGALRM, signal.SIGABRT, signal.SIGVTALRM} <= set(DEADLY)
    harmless = {signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT, signal.SIGURG}
    stopping = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
    assert not (harmless | stopping | faults | {signal.SIGKILL}) & set(DEADLY)


IGNORED = {signal.SIGPIPE, signal.SIGXFSZ}
"""By Python itself."""


@pytest.mark.parametrize(
    "number", [one for one in DEADLY if one not in IGNORED and (one < 32 or one == max(DEADLY))]
)
def test_no_signal_leaves_the_modes_behind(terminal: Start, number: int) -> None:
    screen = terminal("waiting", calls=waiting)
    screen.wait_for("begun")
    assert screen.left_behind() == ["modes"]
    screen.signal(number)
    assert screen.wait() == -number
    assert not screen.left_behind()


@pytest.mark.parametrize("key", ["\x03", "\x1c"])
def test_keys_that_are_signals(terminal: Start, key: str) -> None:
    screen = terminal("waiting", calls=waiting)
    screen.wait_for("begun")
    screen.send(key)
    assert screen.wait() == -(signal.SIGINT if key == "\x03" else signal.SIGQUIT)
    assert not screen.left_behind()


def test_what_is_ignored_stays_ignored(terminal: Start) -> None:
    screen = terminal("ignoring", calls=ignoring)
    screen.wait_for("begun")
    screen.signal(signal.SIGHUP)
    assert screen.is_running()


def test_it_is_stopped_and_goes_on(terminal: Start) -> None:
    screen = terminal("waiting", calls=waiting)
    screen.wait_for("begun")
    screen.key("ctrl-z")
    screen.wait_until_stopped()
    assert not screen.left_behind()
    screen.signal(signal.SIGCONT)
    screen.wait_until(lambda: screen.left_behind() == ["modes"])
    screen.signal(signal.SIGSTOP)
    screen.wait_until_stopped()
    screen.restore_modes()
    screen.signal(signal.SIGCONT)
    screen.wait_until(lambda: screen.left_behind() == ["modes"])
