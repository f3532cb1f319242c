"""Models whose memory is no plain KV cache answer like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(f"{request.param}_gguf")
    return found


@pytest.mark.parametrize("path", ["recurrent", "hybrid", "sliding"], indirect=True)
def test_a_quiet_run_says_nothing_but_the_answer(path: Path, nextok: Callable[..., Any]) -> None:
    arguments = ("generate", "-m", str(path), "-t", "1", "-n", "8", "--temp", "0")
    first, second = nextok(*arguments, "hi"), nextok(*arguments, "hi")
    assert (first.code, first.err) == (0, "")
    assert len(first.out.split()) > 3
    assert second.out == first.out
    assert nextok(*arguments, "no").out != first.out
