"""Recorded workloads, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.generation.errors import UsageError
from nextok.lab.arrival_log import read_arrivals
from nextok.lab.workload import Lengths


def test_a_trace_with_dates(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:50.9951690,396,109\n"
        "2023-11-16 18:15:46.6805900,374,44\n"
    )
    recorded = read_arrivals(str(path))
    assert recorded.lengths == [Lengths(374, 44), Lengths(396, 109)]
    first, second = recorded.arrivals
    assert second - first == pytest.approx(4.314579, abs=1e-6)


def test_json_lines_with_seconds(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(
        '{"time": 3, "prompt_tokens": 7, "completion_tokens": 9}\n'
        '{"time": 4.5, "prompt_tokens": 8, "completion_tokens": 1}\n'
    )
    recorded = read_arrivals(str(path))
    assert recorded.arrivals == [3, 4.5]
    assert recorded.lengths == [Lengths(7, 9), Lengths(8, 1)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,5,9", "2,5,-3"], "line 3: output_tokens is no whole number of at least 1 (-3)"),
        (["1,5,9", "2,5,"], "line 3: output_tokens is no whole number"),
        (["1,5,9", "2,nan,3"], "line 3: prompt_tokens is no whole number"),
        (["soon,5,9", "2,5,3"], "line 2: time is neither seconds nor a date"),
        (["1,5,9", "2026-13-01,5,3"], "line 3: time is neither seconds nor a date"),
        (["1,5,9"], "has 1 rows: two requests are the least"),
    ],
)
def test_a_bad_row_is_told_with_its_line(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(["time,prompt_tokens,output_tokens", *lines]) + "\n")
    with pytest.raises(UsageError) as caught:
        read_arrivals(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("prompt_tokens,output_tokens", "no column of arrival times"),
        ("time,output_tokens", "no column of prompt lengths"),
    ],
)
def test_a_missing_column_is_told(tmp_path: Path, head: str, message: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"{head}\n{','.join('1' for _ in head.split(','))}\n")
    with pytest.raises(UsageError, match=message):
        read_arrivals(str(path))
