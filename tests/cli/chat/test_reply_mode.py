"""The terminal's modes while a reply streams."""

from __future__ import annotations

import os
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.chat.reply_mode import QuietKeys


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    """Both ends of a pseudo-terminal: the person's and the program's."""
    ours, theirs = os.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def modes(descriptor: int) -> list[Any]:
    return termios.tcgetattr(descriptor)


def test_keys_are_not_shown_and_wait_as_they_are(pair: tuple[int, int]) -> None:
    ours, theirs = pair
    before = modes(theirs)
    with QuietKeys(theirs):
        os.write(ours, b"a\x04\r\x0ab\x7f\x15\x16")
        assert os.read(theirs, 100) == b"a\x04\r\x0ab\x7f\x15\x16"
        os.write(theirs, b"reply\n")
        assert os.read(ours, 100) == b"reply\r\n"
        local = modes(theirs)[3]
        assert local & termios.ISIG and not local & (termios.ECHO | termios.ICANON)
    assert modes(theirs) == before


def test_an_interrupt_throws_nothing_away(pair: tuple[int, int]) -> None:
    ours, theirs = pair
    with QuietKeys(theirs):
        os.write(ours, b"typed")
        os.write(theirs, b"reply")
        os.write(ours, b"\x03")
        assert os.read(theirs, 100) == b"typed"
        assert os.read(ours, 100) == b"reply"


def test_it_is_restored_after_an_error_and_when_nested(pair: tuple[int, int]) -> None:
    _, theirs = pair
    before = modes(theirs)
    quiet = QuietKeys(theirs)
    for _ in range(2):
        with pytest.raises(ValueError), quiet:
            inside = modes(theirs)
            with quiet:
                assert modes(theirs) == inside
            assert modes(theirs) == inside
            raise ValueError
        assert modes(theirs) == before != inside


def test_another_thread_gives_the_modes_back_for_a_while(pair: tuple[int, int]) -> None:
    _, theirs = pair
    before = modes(theirs)
    seen = []

    def stop_and_go_on() -> None:
        quiet.restore()
        seen.append(modes(theirs))
        quiet.apply()
        seen.append(modes(theirs))

    with QuietKeys(theirs) as quiet:
        inside = modes(theirs)
        thread = threading.Thread(target=stop_and_go_on)
        thread.start()
        thread.join()
    assert seen == [before, inside]
    quiet.apply()
    quiet.restore()
    assert modes(theirs) == before


def test_what_is_no_terminal_is_left_alone(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file, QuietKeys(file.fileno()) as quiet:
        quiet.restore()
        quiet.apply()


def test_a_terminal_that_has_gone_is_no_error() -> None:
    ours, theirs = os.openpty()
    with QuietKeys(theirs):
        os.close(ours)
    os.close(theirs)
