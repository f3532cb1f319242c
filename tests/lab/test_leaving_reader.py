"""The real command with a real reader, on a pipe."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import EngineError
from nextok.generation.finish import FinishReason
from nextok.lab.leaving_reader import Errand, visit


def errand(model: Path | str, max_tokens: int) -> Errand:
    return Errand(model=str(model), prompt="hi", seed=1, max_tokens=max_tokens, threads=1)


def test_a_reader_who_stays_gets_every_token(
    loop_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the user has set for other runs."""
    monkeypatch.setenv("NEXTOK_MAX_TOKENS", "3")
    monkeypatch.setenv("NEXTOK_JSON", "1")
    stayed = visit(errand(loop_gguf, 30), None, abort=Abort(), clock=time.monotonic)
    assert (stayed.tokens_read, stayed.tokens_made, stayed.exit_code) == (30, 30, 0)
    assert (stayed.tokens_after_close, stayed.seconds_to_exit) == (None, None)
    assert stayed.cpu_seconds > 0


def test_a_reader_who_leaves_ends_it(loop_gguf: Path) -> None:
    """Of 3,000 tokens few are made before the process is gone; it dies as a pipe's writer does."""
    left = visit(errand(loop_gguf, 3000), 5, abort=Abort(), clock=time.monotonic)
    assert left.exit_code == -signal.SIGPIPE
    assert left.tokens_read >= 5
    assert left.tokens_after_close is not None
    assert left.tokens_made < 3000


def test_a_failing_command_is_told_with_its_word(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"exit code 1: .*gone\.gguf"):
        visit(errand(tmp_path / "gone.gguf", 5), None, abort=Abort(), clock=time.monotonic)


def test_an_abort_ends_the_wait() -> None:
    abort = Abort()
    abort.trip(FinishReason.INTERRUPTED)
    with pytest.raises(Aborted):
        visit(errand("toy", 100_000), None, abort=abort, clock=time.monotonic)
