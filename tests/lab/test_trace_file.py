"""Reading traces: what is there, however it ends, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nextok.generation.errors import UsageError
from nextok.lab.trace_file import read_trace
from nextok.lab.traced_generation import RunSettings, ThreadChange

Lines = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """`written(*parts)`: a file of these lines; objects as JSON, bytes as they are."""

    def write(*parts: object) -> str:
        path = tmp_path / "t.jsonl"
        path.write_bytes(
            b"".join(
                part if isinstance(part, bytes) else json.dumps(part).encode() + b"\n"
                for part in parts
            )
        )
        return str(path)

    return write


def test_a_trace_is_its_settings_times_and_ending(trace: Callable[..., Path]) -> None:
    read = read_trace(str(trace([20.5, 21.0, 400.25])))
    (one,) = read.generations
    assert one.settings == RunSettings(
        model="m.Q4_1", threads=1, context_tokens=2048, temperature=0.8, seed=4
    )
    assert (one.prompt_tokens, one.cached_tokens, one.tokens) == (34, 2, 4)
    assert one.indexes == (1, 2, 3)
    assert one.gaps == pytest.approx((0.0205, 0.021, 0.40025))
    assert (one.ttft_seconds, one.prefill_seconds) == (0.5, 0.38)
    assert (one.ending, one.turn) == ("length", None)
    assert (read.bad_lines, read.cut) == ((), False)


def test_the_threads_that_an_adaptive_run_had(
    written: Callable[..., str], trace_lines: Lines
) -> None:
    start, *rest = trace_lines([5.0, 6.0, 7.0], threads=2)
    changes = [
        {"type": "threads", "i": place, "threads": count} for place, count in ((0, 2), (2, 1))
    ]
    read = read_trace(written(start, *changes, {"type": "threads", "i": 2}, *rest))
    (one,) = read.generations
    assert one.thread_changes == (ThreadChange(index=2, threads=1),)
    assert (one.thread_counts, one.settings.threads, read.bad_lines) == ((2, 1), 2, ())


def test_turns_are_generations(written: Callable[..., str], trace_lines: Lines) -> None:
    turns = [trace_lines([float(turn)] * turn, turn=turn) for turn in (1, 2, 3)]
    read = read_trace(written(*turns[0], *turns[1], *turns[2]))
    assert [(one.turn, len(one.gaps)) for one in read.generations] == [(1, 1), (2, 2), (3, 3)]
    assert [one.gaps[0] for one in read.generations] == [0.001, 0.002, 0.003]


def test_every_start_begins_a_generation(written: Callable[..., str], trace_lines: Lines) -> None:
    once = trace_lines([5.0])
    assert len(read_trace(written(*once, *once)).generations) == 2
    cut = trace_lines([5.0], end=False)
    assert [one.ending for one in read_trace(written(*cut, *once)).generations] == [None, "length"]


def test_what_ended_early_is_read_as_far_as_it_goes(
    written: Callable[..., str], trace_lines: Lines
) -> None:
    read = read_trace(written(*trace_lines([5.0, 6.0], end=False), b'{"type": "token", "i": 3, "t'))
    (one,) = read.generations
    assert (len(one.gaps), one.ending, one.prefill_seconds) == (2, None, None)
    assert (read.cut, read.bad_lines) == (True, ())


def test_a_last_line_without_a_newline_counts_if_it_is_whole(
    written: Callable[..., str], trace_lines: Lines
) -> None:
    *most, end = trace_lines([5.0])
    read = read_trace(written(*most, json.dumps(end).encode()))
    assert (read.generations[0].ending, read.cut) == ("length", False)


def test_a_failure_is_an_ending(written: Callable[..., str], trace_lines: Lines) -> None:
    failed = {"type": "error", "error": "the context is too small", "code": 3}
    read = read_trace(written(*trace_lines([], end=False)[:3], failed))
    (one,) = read.generations
    assert (one.ending, one.tokens, one.gaps) == ("error", 0, ())


def test_other_types_of_lines_are_left_alone(
    written: Callable[..., str], trace_lines: Lines
) -> None:
    start, *rest = trace_lines([5.0])
    read = read_trace(written(start, {"type": "threads", "threads": 1, "at_ms": 3}, *rest))
    assert (len(read.generations), read.bad_lines) == (1, ())


@pytest.mark.parametrize(
    "bad",
    [
        b"no JSON\n",
        b"[1, 2]\n",
        b'{"i": 1}\n',
        b'{"type": 3}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"type": "token", "i": 1, "t_ms": 5}\n',
        b'{"type": "token", "i": 1, "t_ms": 5, "gap_ms": NaN}\n',
        b'{"type": "token", "i": 1, "t_ms": 5, "gap_ms": -1}\n',
        b'{"type": "token", "i": 1, "t_ms": 5, "gap_ms": true}\n',
        b'{"type": "token", "i": 1, "t_ms": 5, "gap_ms": 1e400}\n',
        b'{"type": "token", "i": 1.5, "t_ms": 5, "gap_ms": 5}\n',
        b'{"type": "token", "i": -1, "t_ms": 5, "gap_ms": 5}\n',
    ],
)
def test_bad_lines_are_counted_and_the_rest_is_read(
    written: Callable[..., str], trace_lines: Lines, bad: bytes
) -> None:
    start, *rest = trace_lines([5.0, 6.0])
    read = read_trace(written(start, bad, *rest[:3], b"\n", bad, *rest[3:]))
    assert read.bad_lines == (2, 7)
    assert [len(one.gaps) for one in read.generations] == [2]


def test_a_byte_order_mark_does_not_matter(written: Callable[..., str], trace_lines: Lines) -> None:
    start, *rest = trace_lines([5.0])
    marked = b"\xef\xbb\xbf" + json.dumps(start).encode() + b"\r\n"
    assert read_trace(written(marked, *rest)).generations[0].settings.model == "m.Q4_1"


def test_a_reason_from_elsewhere_is_no_text_to_show(
    written: Callable[..., str], trace_lines: Lines
) -> None:
    *most, end = trace_lines([5.0])
    read = read_trace(written(*most, {**end, "finish_reason": "\x1b[31m" * 1000}))
    assert read.generations[0].ending == "unknown"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"hello\n", "is no trace"),
        (b"\n\n", "is no trace"),
        (b'{"text": "an answer of --json"}\n', "is no trace"),
        (b"GGUF\x03\x00\x00\x00" * 1000, "is no trace"),
        (b'{"name": 1}\n' * 1000 + b'{"type": "start"}\n', "is no trace"),
    ],
)
def test_what_is_no_trace_is_said_in_one_line(
    written: Callable[..., str], data: bytes, words: str
) -> None:
    path = written(data)
    with pytest.raises(UsageError, match=words) as told:
        read_trace(path)
    assert path in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [("absent", "No such file"), (".", "Is a directory"), ("a\0b", "null"), ("a/b", "No such")],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_trace(f"{tmp_path}/{name}")


_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_LINE = st.fixed_dictionaries(
    {"type": st.sampled_from(["start", "prefill", "token", "end", "error", "threads"]) | _VALUES},
    optional={
        name: _VALUES | st.dictionaries(st.sampled_from(["temperature", "prefill_s"]), _VALUES)
        for name in ("i", "t_ms", "gap_ms", "turn", "sampling", "timings", "ctx", "model", "total")
    },
)
_JSON = _LINE.map(lambda one: json.dumps(one).encode())


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(_LINE.map(lambda one: json.dumps(one).encode()) | st.binary(max_size=9), max_size=9)
)
def test_nothing_in_a_file_is_an_error_but_ours(tmp_path: Path, parts: list[bytes]) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(b"\n".join(parts))
    try:
        read = read_trace(str(path))
    except UsageError:
        return
    for one in read.generations:
        assert len(one.gaps) == len(one.indexes) <= one.tokens
        assert all(0 <= gap <= 1e12 for gap in one.gaps)
