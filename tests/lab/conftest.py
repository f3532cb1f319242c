"""Traces as the command line writes them, with gaps that are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]


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
