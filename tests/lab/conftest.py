"""Models under study, and traces with gaps that are known."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.opening import open_weights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.seen_files import SeenFiles
from nextok.generation.abort import Abort
from nextok.generation.sampling import Sampling
from nextok.lab.subject import Subject

Write = Callable[..., Path]


@pytest.fixture(scope="session")
def tried_models(tmp_path_factory: pytest.TempPathFactory) -> SeenFiles:
    """A model is tried in a child process once, not in each test."""
    return SeenFiles(tmp_path_factory.mktemp("state"))


@pytest.fixture
def subject_of(tried_models: SeenFiles) -> Iterator[Callable[[Path | None], Subject]]:
    """`subject_of(path)`: the model opened for an experiment, on one thread; None is the toy.

    All those of a test have one abort flag, as those of a run have.
    """
    made: list[Subject] = []
    abort = Abort()

    def opened(path: Path | None) -> Subject:
        subject = Subject(
            weights=open_weights(path, LoadOptions(), abort, seen=tried_models),
            path=path,
            options=ContextOptions(context_size=256, threads=1),
            sampling=Sampling(seed=1),
            context_limit=4096,
            abort=abort,
            clock=time.monotonic,
        )
        made.append(subject)
        return subject

    yield opened
    for subject in made:
        subject.weights.close()


def lines(
    gaps_ms: Sequence[float], *, turn: int | None = None, end: bool = True, **start: Any
) -> list[dict[str, Any]]:
    """A generation with these gaps: TTFT 500 ms, prefill 380 ms."""
    mark = {} if turn is None else {"turn": turn}
    settings = {
        "model": "m.Q4_1", "prompt_tokens": 34, "seed": 4, "sampling": {"temperature": 0.8},
        "ctx": 2048, "threads": 1, "exact": False,
    }  # fmt: skip
    made: list[dict[str, Any]] = [{"type": "start", **mark, **settings, **start}]
    made += [
        {"type": "prefill", **mark, "done": done, "total": 34, "cached": 2} for done in (2, 34)
    ]
    at = 500.0
    for index, gap in enumerate([None, *gaps_ms]):
        at += gap or 0
        times = {"t_ms": round(at, 3), "gap_ms": gap}
        made.append(
            {"type": "token", **mark, "i": index, "id": 7, "text": "x", **times, "drafted": False}
        )
    if end:
        timings = {"prefill_s": 0.38, "ttft_s": 0.5}
        made.append({"type": "end", **mark, "finish_reason": "length", "timings": timings})
    return made


@pytest.fixture
def trace_lines() -> Callable[..., list[dict[str, Any]]]:
    """`trace_lines(gaps_ms, turn=None, end=True, **start)` → the lines as objects."""
    return lines


@pytest.fixture
def trace(tmp_path: Path) -> Write:
    """`trace(gaps_ms, ..., name="t.jsonl")` → the path of a trace with these gaps."""

    def write(gaps_ms: Sequence[float], *, name: str = "t.jsonl", **options: Any) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in lines(gaps_ms, **options)))
        return path

    return write
