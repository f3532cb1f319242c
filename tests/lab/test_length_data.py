"""Lengths from the journal: what was cut, what failed, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, Row
from nextok.generation.errors import UsageError
from nextok.lab.length_data import Answer, LengthData, of_journal


def row(tokens: int, finish: str = "eos", model: str = "small", **figures: Any) -> Row:
    return Row(
        ended_at=1.0, command="generate", model=model, finish=finish, completion_tokens=tokens,
        version="0.1.0", **figures,
    )  # fmt: skip


def read(path: Path, *rows: Row, model: str | None = None) -> LengthData:
    journal = Journal(path / "journal.sqlite")
    assert all(map(journal.add, rows))
    with journal.reading() as queries:
        models = [one for one in queries.models() if model in (None, one.name)]
        return of_journal(queries.answers(models))


def test_every_ending(tmp_path: Path) -> None:
    endings = ("eos", "stop", "length", "context", "interrupted", "disconnected", "timeout",
               "stalled", "error")  # fmt: skip
    data = read(tmp_path, *(row(place, finish) for place, finish in enumerate(endings)))
    assert data.tokens == list(range(8))
    assert [one.cut for one in data.answers] == [False, False, *[True] * 6]
    assert data.failed == 1


def test_prompts_and_models(tmp_path: Path) -> None:
    rows = [row(3, prompt_tokens=9), row(4), row(8, model="large"), row(9, model="large")]
    assert read(tmp_path, *rows).answers[:2] == (Answer(3, False, 9), Answer(4))
    (tmp_path / "other").mkdir()
    assert read(tmp_path / "other", *rows, model="large").tokens == [8, 9]


def test_too_few(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the journal has one answer: a distribution has two"):
        read(tmp_path, row(3))
    with pytest.raises(UsageError, match="the journal: all 2 lengths are 3"):
        read(tmp_path, row(3))
