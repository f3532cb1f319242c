"""The signals at a prompt: who gets them, and when."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from nextok.cli.chat.prompt_signals import TAKEN, prompt_signals


@pytest.fixture
def before() -> Iterator[list[int]]:
    """What the handlers from before have got."""
    numbers: list[int] = []
    old = {number: signal.getsignal(number) for number in TAKEN}
    for number in TAKEN:
        signal.signal(number, lambda number, frame: numbers.append(number))
    yield numbers
    for number, handler in old.items():
        signal.signal(number, handler)


def test_what_comes_before_anybody_listens_waits(before: list[int]) -> None:
    heard: list[int] = []
    with prompt_signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert heard == []
        signals.hear(heard.append)
        signal.raise_signal(signal.SIGHUP)
    assert heard == [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
    assert before == []


def test_what_comes_too_late_is_for_the_handlers_from_before(before: list[int]) -> None:
    heard: list[int] = []
    with prompt_signals() as signals:
        signals.hear(heard.append)
        signals.hold()
        signal.raise_signal(signal.SIGTERM)
    assert (heard, before) == ([], [signal.SIGTERM])


def test_what_is_ignored_stays_ignored(before: list[int]) -> None:
    heard: list[int] = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with prompt_signals() as signals:
        signals.hear(heard.append)
        signal.raise_signal(signal.SIGHUP)
    assert (heard, before) == ([], [])
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_stopping_is_the_kernels_for_a_while(before: list[int]) -> None:
    with prompt_signals() as signals:
        with signals.stopping_as_usual():
            assert signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTSTP) == signals.take
