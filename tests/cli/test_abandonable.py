"""Work that is left behind: its result is thrown away exactly once, whoever is faster."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from nextok.cli.abandonable import abandonable
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import ModelError
from nextok.generation.finish import FinishReason

HANG = 30


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opened at the end of every test: no thread is left waiting."""
    made = threading.Event()
    yield made
    made.set()


def refuse(result: object) -> None:
    raise AssertionError(f"{result} was thrown away")


def test_what_the_work_returns() -> None:
    assert abandonable(lambda: "fruit", Abort(), refuse) == "fruit"


def test_the_work_is_done_elsewhere() -> None:
    here = threading.current_thread()
    assert abandonable(threading.current_thread, Abort(), refuse) is not here


@pytest.mark.parametrize("error", [ModelError("no model"), KeyboardInterrupt(), Aborted()])
def test_what_the_work_raises(error: BaseException) -> None:
    def work() -> str:
        raise error

    with pytest.raises(type(error)) as caught:
        abandonable(work, Abort(), refuse)
    assert caught.value is error


def test_a_flag_that_is_up_leaves_the_work_behind(gate: threading.Event) -> None:
    abort, began, thrown = Abort(), threading.Event(), threading.Event()
    results: list[str] = []

    def work() -> str:
        began.set()
        gate.wait(HANG)
        return "late"

    def discard(result: str) -> None:
        results.append(result)
        thrown.set()

    def interrupt() -> None:
        began.wait(HANG)
        abort.trip(FinishReason.INTERRUPTED)

    threading.Thread(target=interrupt).start()
    with pytest.raises(Aborted):
        abandonable(work, abort, discard)
    assert results == [], "the work is still going on"
    gate.set()
    assert thrown.wait(HANG)
    assert results == ["late"]


def test_a_failure_of_work_that_was_left_behind_is_nobodys(gate: threading.Event) -> None:
    abort, done = Abort(), threading.Event()

    def work() -> str:
        try:
            gate.wait(HANG)
            raise ModelError("too late to matter")
        finally:
            done.set()

    abort.trip(FinishReason.INTERRUPTED)
    with pytest.raises(Aborted):
        abandonable(work, abort, refuse)
    gate.set()
    assert done.wait(HANG)


def test_a_result_that_is_there_with_the_flag_is_not_lost() -> None:
    """It is returned, or thrown away: never neither, never both."""
    for _ in range(50):
        abort = Abort()
        thrown: list[int] = []

        def work(abort: Abort = abort) -> int:
            abort.trip(FinishReason.INTERRUPTED)
            return 7

        try:
            returned = [abandonable(work, abort, thrown.append)]
        except Aborted:
            returned = []
        for thread in threading.enumerate():
            if thread.name == "errand":
                thread.join(HANG)
        assert returned + thrown == [7]
