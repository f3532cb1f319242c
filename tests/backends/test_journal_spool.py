"""Lines beside the journal become its rows, each once."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, LoggedText, Row
from nextok.backends.journal_spool import has_lines, leave_line, taken_lines

LINE: dict[str, Any] = {
    "ended_at": 5.0, "command": "generate", "model": "m", "finish": "interrupted",
    "version": "1", "load_seconds": 0.5,
}  # fmt: skip
ROW = Row(**LINE)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state" / "journal.sqlite")


def rows(journal: Journal) -> list[Row]:
    with journal.reading() as queries:
        return queries.last(1000, queries.models())[::-1]


def test_whoever_reads_takes_it_in(journal: Journal) -> None:
    leave_line(journal.path, LINE)
    leave_line(journal.path, {**LINE, "ended_at": 6.0, "asked": "why?"})
    second = ROW._replace(ended_at=6.0, text=LoggedText(prompt="why?", answer=""))
    assert rows(journal) == [ROW, second]
    assert rows(journal) == [ROW, second]
    assert not has_lines(journal.path)


def test_whoever_writes_takes_it_in_before_its_own(journal: Journal) -> None:
    leave_line(journal.path, LINE)
    assert journal.add(ROW._replace(ended_at=7.0))
    assert not has_lines(journal.path)
    assert [one.ended_at for one in rows(journal)] == [5.0, 7.0]


def test_nobody_else_may_read_it(journal: Journal) -> None:
    leave_line(journal.path, LINE)
    (path,) = journal.path.parent.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_forgetting_takes_it_away(journal: Journal) -> None:
    leave_line(journal.path, LINE)
    assert journal.size_bytes() > 0
    journal.forget()
    assert list(journal.path.parent.iterdir()) == []


@pytest.mark.parametrize("line", [b'{"ended_at": 5', b"[]", b"\xff", b'{"colour": 1}', b"7"])
def test_a_line_that_is_none_is_dropped(journal: Journal, line: bytes) -> None:
    leave_line(journal.path, LINE)
    with (journal.path.parent / "journal.sqlite.pending").open("ab") as file:
        file.write(line + b"\n")
    leave_line(journal.path, LINE)
    assert taken_lines(journal.path) == [ROW, ROW]


def test_many_that_leave_and_take_lose_none_and_double_none(journal: Journal) -> None:
    def leave(number: int) -> list[Row]:
        leave_line(journal.path, {**LINE, "ended_at": float(number)})
        return taken_lines(journal.path) if number % 3 == 0 else []

    with ThreadPoolExecutor(8) as pool:
        taken = [row for some in pool.map(leave, range(300)) for row in some]
    taken += taken_lines(journal.path)
    assert sorted(row.ended_at for row in taken) == [float(number) for number in range(300)]


def test_a_folder_that_cannot_be_made_costs_the_row(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    leave_line(tmp_path / "file" / "journal.sqlite", LINE)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
