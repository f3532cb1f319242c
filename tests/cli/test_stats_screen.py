"""The page of the statistics for any width: bars in their lines, times in their columns."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from nextok.backends.journal_row import LoggedModel
from nextok.backends.journal_statistics import ModelLatency, Saved, Spread, Statistics
from nextok.backends.length_distribution import Lengths
from nextok.cli.stats_look import Look
from nextok.cli.stats_report import Reported
from nextok.cli.stats_screen import page
from nextok.cli.terminal_signs import UNICODE

SPREAD = Spread(p50=0.0083, p95=0.12, p99=1.234, max=75.5)


def lines(columns: int) -> list[str]:
    """Some hundred generations of one model."""
    model = LoggedModel(id=1, name="m", quantization="Q4_0")
    found = Statistics(
        generations=130,
        finishes={"eos": 100, "disconnected": 20, "stop": 10},
        aborted=20,
        saved=Saved(seconds=90.0, low=45.0, high=180.0, aborted=20, unknown=0, completed=110),
        lengths=Lengths({10: 90, 30: 30, 4000: 10}),
        latencies=[ModelLatency(model=model, generations=130, ttft=SPREAD, itl=SPREAD)],
    )
    asked = Reported(statistics=found, since=None, only_model=None)
    return page(asked, Look(columns=columns, signs=UNICODE, fine=True, color=False))


@pytest.mark.parametrize("columns", [30, 38, 40, 80, 100])
def test_no_line_is_wider_than_its_terminal(columns: int) -> None:
    assert [line for line in lines(columns) if cell_len(line) > columns] == []


def test_bars_are_as_long_as_their_shares() -> None:
    found = lines(80)
    place = found.index("How they ended")
    eos, gone, stop = (line.count("█") for line in found[place + 1 : place + 4])
    assert 4.5 <= eos / gone <= 5.5
    assert 1.5 <= gone / stop <= 2.5


def test_a_narrow_page_has_bars_and_the_times_there_is_room_for() -> None:
    found = lines(30)
    text = "\n".join(found)
    assert any(line.split()[:1] == ["10-19"] and "█" in line for line in found)
    assert "p50     p95     p99" in text and "  TTFT  8.3 ms  120 ms  1.23 s" in found
    assert "  TTFT  8.3 ms  120 ms  1.23 s  75.5 s" in lines(40)


def test_what_was_saved_is_said_as_an_estimate() -> None:
    text = " ".join(" ".join(lines(80)).split())
    assert "20 aborted (15.4 %): 20 disconnected" in text
    assert "aborting saved about 1 min 30 s of compute (45 s to 3 min 00 s)" in text
    assert "an estimate: what 110 completed generations of the same models" in text
    assert "ITL is the median generation's; max is the longest gap of all" in text
