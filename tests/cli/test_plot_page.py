"""The page of `nextok plot` in a terminal: as wide as asked, every figure in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.cells import cell_len

from nextok.cli.plot_figures import sentence, wrapped
from nextok.cli.plot_page import Room, page
from nextok.cli.terminal_signs import ASCII, UNICODE, Signs
from nextok.lab.latency_figures import Series, all_series
from nextok.lab.trace_file import TraceFile
from nextok.lab.traced_generation import Generation, RunSettings, ThreadChange

STALLED = [20.0] * 90 + [300.0] * 2
ESCAPES = re.compile(r"\x1b\[\d*m")


def series_of(*each: Sequence[float], model: str = "m.Q4_1", name: str = "t") -> list[Series]:
    """One trace for each list of gaps."""
    return all_series(
        [
            TraceFile(
                path=f"{name}{number}.jsonl",
                generations=(
                    Generation(
                        settings=RunSettings(model=model, threads=number, context_tokens=2048),
                        tokens=len(gaps) + 1,
                        ttft_seconds=0.5,
                        indexes=tuple(range(1, len(gaps) + 1)),
                        gaps=tuple(gap / 1000 for gap in gaps),
                        ending="eos",
                    ),
                ),
                bad_lines=(),
                cut=False,
            )
            for number, gaps in enumerate(each, 1)
        ]
    )


def room(
    columns: int = 80, signs: Signs = UNICODE, *, color: bool = False, lines: int = 24
) -> Room:
    return Room(columns=columns, lines=lines, signs=signs, color=color)


def test_one_series_is_points_bars_and_a_sentence() -> None:
    assert page(series_of([20] * 5 + [24] * 5), room(44)) == [
        "Inter-token latency of m.Q4_1",
        "1 thread · context of 2,048 tokens",
        "",
        "gap between tokens (ms)",
        "24 ┤                       ⠄   ⠄   ⠄  ⠠   ⠠",
        "   │",
        "   │",
        "22 ┤",
        "   │",
        "   │",
        "20 ┤   ⠐   ⠐   ⠐   ⠐   ⠂",
        "   └┬──────────────────┬──────────────────┬─",
        "    0                  5         token index",
        "",
        "share of the gaps (%)",
        "50 ┤   ██                              ███",
        "   │   ██                              ███",
        "   │   ██                              ███",
        " 0 ┤   ██                              ███",
        "   └───┬────────────────┬───────────────┬───",
        "       20               22          gap (ms)",
        "                        ▲ p50 22.0",
        "                               p95 24.0 ▲",
        "                               p99 24.0 ▲",
        "",
        "t1.jsonl: 11 tokens · TTFT 500 ms ·",
        "p50 22.0 ms · p95 24.0 ms · p99 24.0 ms ·",
        "max 24.0 ms · 0 stalls · eos",
    ]


@pytest.mark.parametrize("columns", [20, 40, 57, 80, 120, 300])
@pytest.mark.parametrize("signs", [UNICODE, ASCII])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_no_line_is_wider_than_the_page(
    columns: int, signs: Signs, color: bool, count: int
) -> None:
    series = series_of(*[STALLED] * count, model="模型-" + "long" * 30, name="a name" * 9)
    width = min(120, max(40, columns))
    widths = [
        cell_len(ESCAPES.sub("", line)) for line in page(series, room(columns, signs, color=color))
    ]
    assert width - 1 <= max(widths) <= width


def test_ascii_is_ascii() -> None:
    for series in (series_of(STALLED), series_of(STALLED, [10, 11])):
        "\n".join(page(series, room(signs=ASCII))).encode("ascii")


def test_stalls_are_marked_and_explained() -> None:
    lines = page(series_of(STALLED), room())
    assert sum(line.count("×") for line in lines[4:12]) >= 1
    assert "× stall: a gap over 5 × the median" in lines[3]
    assert not any("stall:" in line for line in page(series_of([20, 21]), room()))


def test_percentiles_point_into_the_histogram() -> None:
    marks = [line for line in page(series_of(STALLED), room()) if "▲" in line]
    assert marks == [
        "         ▲ p50 20.0                                                p99 300 ▲",
        "         ▲ p95 20.0",
    ]


def test_several_series_are_lettered_and_in_a_table() -> None:
    lines = page(series_of([20] * 9, [30] * 9), room(100))
    assert [line[:24].rstrip() for line in lines[-2:]] == [
        "a t1.jsonl · 1 thread", "b t2.jsonl · 2 threads"
    ]  # fmt: skip
    head = lines[-3].split("  ")
    assert [one.strip() for one in head if one.strip()] == [
        "tokens", "prefill ms", "TTFT ms", "p50 ms", "p95 ms", "p99 ms", "max ms", "stalls", "end"
    ]  # fmt: skip
    assert lines[-1].split()[-9:] == ["10", "-", "500", "30.0", "30.0", "30.0", "30.0", "0", "eos"]
    field = "".join(lines[4:11])
    assert "a" in field and "b" in field


def test_a_narrow_table_keeps_the_percentiles() -> None:
    lines = page(series_of([20] * 9, [30] * 9), room(40))
    assert lines[-3].split() == ["p50", "ms", "p95", "ms", "p99", "ms"]


def test_colour_tells_series_apart_where_there_is_colour() -> None:
    plain = page(series_of([20] * 9, [30] * 9), room())
    colored = page(series_of([20] * 9, [30] * 9), room(color=True))
    assert not any("\x1b" in line for line in plain)
    assert colored[-2].startswith("\x1b[36ma\x1b[0m t1")
    assert colored[-1].startswith("\x1b[33mb\x1b[0m t2")
    field = "".join(colored[4:11])
    assert "\x1b[36m" in field and "\x1b[33m" in field
    assert [ESCAPES.sub("", line) for line in colored[-3:]] == plain[-3:]


def test_a_sentence_has_all_figures() -> None:
    (one,) = series_of(STALLED)
    assert sentence(one, UNICODE) == (
        "t1.jsonl: 93 tokens · TTFT 500 ms · p50 20.0 ms · p95 20.0 ms · p99 300 ms · "
        "max 300 ms · 2 stalls · eos"
    )


def test_one_is_not_many() -> None:
    (one,) = series_of([20.0] * 9 + [300.0])
    assert "11 tokens" in sentence(one, ASCII) and "1 stall -" in sentence(one, ASCII)


def test_names_cannot_drive_a_terminal() -> None:
    (one, two) = series_of([20, 21], [20, 22], model="\x1b[31mred\n", name="\x1b]0;t\x07")
    text = "\n".join([*page([one], room()), *page([one, two], room()), sentence(one, UNICODE)])
    assert "\x1b" not in text and "\x07" not in text


def test_settings_are_folded_between_parts() -> None:
    assert wrapped("one two · three four · five", 15, UNICODE) == [
        "one two ·", "three four ·", "five"
    ]  # fmt: skip


def changing(series: Sequence[Series]) -> list[Series]:
    """The same, one thread from token 5 on."""
    change = (ThreadChange(index=5, threads=1),)
    return [
        replace(one, generation=replace(one.generation, thread_changes=change)) for one in series
    ]


def test_a_change_of_threads_has_an_arrow_under_its_token() -> None:
    (one, two) = changing(series_of([20] * 10, [30] * 10))
    alone = page([two], room(60))
    place = next(at for at, line in enumerate(alone) if line.endswith("▲ 1 thread"))
    assert "token index" in alone[place - 1]
    # The ruler's "5" is in the same column.
    assert alone[place].index("▲") == alone[place - 1].index("5")
    assert "2→1 threads · context of 2,048 tokens" in alone
    both = page([one, two], room(60))
    assert any("▲ a: 1 thread" in line for line in both)
    assert any("▲ b: 1 thread" in line for line in both)
    assert any("2->1 threads" in line for line in page([two], room(60, ASCII)))
