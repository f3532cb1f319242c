"""The live figures as text: what is measured, what it says, what a narrow window leaves out."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from dataclasses import replace

import pytest
from wcwidth import wcswidth

from nextok.cli.latency_line import Look, latency_line, short
from nextok.cli.latency_meter import LatencyMeter, Pace, Reading, Spread
from nextok.cli.latency_tint import tinted
from nextok.generation.events import Token
from nextok.generation.timings import percentile

PLAIN = Look(color=False, unicode=True)
COLORED = Look(color=True, unicode=True)
CODES = re.compile("\x1b\\[[0-9;]*m")


def metered(gaps: Iterable[float], *, drafted: bool = False) -> LatencyMeter:
    """A first token after 225 ms and then these gaps in seconds, every other token drafted."""
    meter = LatencyMeter()
    meter.start(10.0)
    at = 10.225
    meter.token(Token(0, 0, "", at, 0.001))
    for index, gap in enumerate(gaps, start=1):
        at += gap
        meter.token(Token(index, 0, "", at, gap, drafted and index % 2 == 0))
    return meter


def reading(gaps: Iterable[float], *, drafted: bool = False) -> Reading:
    found = metered(gaps, drafted=drafted).reading()
    assert found is not None
    return found


STEADY = reading([0.010] * 30 + [0.012] * 10)
UNSTEADY = reading([*[0.010] * 30, 0.070, *[0.012] * 9, 0.100, 0.010], drafted=True)

# -- what is measured


def test_a_reading_is_of_all_tokens_so_far() -> None:
    gaps = [0.030, 0.010, 0.020, 0.025, 0.015, 0.040]
    found = reading(gaps)
    assert found.spread == Spread(
        last=0.040,
        p50=percentile(sorted(gaps), 50),
        p95=percentile(sorted(gaps), 95),
        max=0.040,
    )
    assert found.ttft_seconds == pytest.approx(0.225)
    assert found.tokens_per_second == pytest.approx(6 / sum(gaps))
    assert [gap for gap, _ in found.recent] == gaps
    assert (found.tokens, found.drafted, found.stalls) == (7, 0, 0)


def test_the_rate_is_that_of_the_clock_and_a_gap_the_engines() -> None:
    meter = LatencyMeter()
    for index in range(5):
        meter.token(Token(index, 0, "", index * 1.0, 0.25))
    found = meter.reading()
    assert found is not None and found.spread is not None
    assert (found.tokens_per_second, found.spread.p50) == (1.0, 0.25)


def test_before_the_second_token_there_is_no_gap() -> None:
    assert LatencyMeter().reading() is None
    found = reading([])
    assert (found.spread, found.tokens_per_second, found.recent) == (None, None, ())


@pytest.mark.parametrize(
    ("gap", "pace"),
    [
        (0.0079, Pace.QUICK),
        (0.008, Pace.USUAL),
        (0.0125, Pace.USUAL),
        (0.013, Pace.SLOW),
        (0.020, Pace.SLOW),
        (0.021, Pace.LATE),
        (0.050, Pace.LATE),
        (0.0501, Pace.STALLED),
    ],
)
def test_a_gap_is_compared_with_the_median_before_it(gap: float, pace: Pace) -> None:
    meter = metered([0.010] * 5)
    meter.token(Token(6, 0, "", 11.0, gap))
    assert meter.pace is pace


def test_stalls_are_counted() -> None:
    assert (UNSTEADY.stalls, STEADY.stalls) == (2, 0)
    assert [pace for _, pace in UNSTEADY.recent].count(Pace.STALLED) == 2
    # Of the first tokens nobody knows yet what is usual.
    assert reading([0.010, 0.010, 0.010, 0.010, 1.0]).stalls == 0
    assert reading([0.010, 0.010, 0.010, 0.010, 0.010, 1.0]).stalls == 1


def test_the_median_runs_along() -> None:
    gaps = [0.001 * (index % 7 + 1) for index in range(100)]
    spread = reading(gaps).spread
    assert spread is not None and spread.p50 == pytest.approx(statistics.median(gaps))


# -- what it says


def test_all_of_it() -> None:
    assert latency_line(UNSTEADY, 200, PLAIN) == (
        "TTFT 225 ms  10.0 ms  p50 10.0 p95 12.0 max 100   71.4 tok/s  drafted 21/43  2 stalls  "
        + "▅" * 28
        + "!"
        + "▅" * 9
        + "!▅"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2251, "225 ms"),
        (9.99, "9990 ms"),
        (9.9996, "10.0 s"),
        (10.31, "10.3 s"),
        (1234.5, "1234 s"),
    ],
)
def test_a_long_wait_is_in_seconds(seconds: float, said: str) -> None:
    assert latency_line(replace(STEADY, ttft_seconds=seconds), 200, PLAIN).startswith(
        f"TTFT {said}  "
    )


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (5, ""),
        (6, "▅▅▅▅▅▅"),
        (7, "12.0 ms"),
        (18, "12.0 ms  p50 10.0"),
        (19, "12.0 ms  95.2 tok/s"),
        (26, "12.0 ms  95.2 tok/s"),
        (27, "12.0 ms  95.2 tok/s  ▅▅▅▅▅▅"),
        (29, "12.0 ms  p50 10.0  95.2 tok/s"),
        (39, "12.0 ms  p50 10.0  95.2 tok/s  ▅▅▅▅▅▅▅▅"),
        (46, "12.0 ms  p50 10.0 p95 12.0  95.2 tok/s  ▅▅▅▅▅▅"),
        (79, "TTFT 225 ms  12.0 ms  p50 10.0 p95 12.0 max 12.0  95.2 tok/s  " + "▅" * 17),
    ],
)
def test_what_there_is_no_room_for_is_left_out(room: int, line: str) -> None:
    assert latency_line(STEADY, room, PLAIN) == line


@pytest.mark.parametrize("one", [STEADY, UNSTEADY, reading([]), reading([12.0, 0.0001])])
def test_it_fits_and_grows_with_the_room(one: Reading) -> None:
    for room in range(200):
        plain = latency_line(one, room, PLAIN)
        assert wcswidth(plain) <= room
        colored = CODES.sub("", latency_line(one, room, COLORED))
        assert colored == plain.replace("!", "█")
    assert latency_line(one, 10, PLAIN) in latency_line(one, 200, PLAIN)


def test_figures_stay_where_they_are_while_they_change() -> None:
    lines = [latency_line(reading([gap] * 6), 79, PLAIN) for gap in (0.0012, 0.012, 0.12, 1.2)]
    for word in ("p50", "p95", "max", "tok/s"):
        assert len({line.index(word) for line in lines}) == 1, lines


def test_the_sparkline_is_of_the_last_gaps() -> None:
    falling = reading([0.001 * gap for gap in range(100, 0, -1)])
    bars = latency_line(falling, 200, PLAIN)[-40:]
    assert len(bars) == 40 and bars == "".join(sorted(bars, reverse=True))
    assert latency_line(reading([0.010] * 8 + [0.001, 0.02]), 200, PLAIN).endswith("  ▅▅▅▅▅▅▅▅▁█")


def test_colours_are_of_the_sixteen_and_reset() -> None:
    line = latency_line(UNSTEADY, 120, COLORED)
    assert set(CODES.findall(line)) == {"\x1b[0m", "\x1b[2m", "\x1b[1;31m"}
    assert line.endswith("\x1b[1;31m█\x1b[0m▅")
    assert "\x1b[1;31m2 stalls\x1b[0m" in line
    assert latency_line(reading([0.010] * 6 + [0.030]), 79, COLORED).count("\x1b[31m") == 2


def test_where_there_are_no_bars_there_is_ascii() -> None:
    line = latency_line(UNSTEADY, 79, Look(color=False, unicode=False))
    assert line.isascii() and line.endswith("=!=")
    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"), (0.004, "0.00"), (9.994, "9.99"), (9.996, "10.0"), (12.345, "12.3"),
        (99.94, "99.9"), (99.96, " 100"), (1234.5, "1234"), (9999.6, " 10k"), (123456, "123k"),
    ],
)  # fmt: skip
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert short(value) == text


# -- the text itself


def test_text_has_the_colour_of_its_pace() -> None:
    assert tinted("word", Pace.QUICK) == "\x1b[32mword\x1b[22;39m"
    assert tinted("word", Pace.SLOW) == "\x1b[33mword\x1b[22;39m"
    assert tinted("word", Pace.LATE) == "\x1b[31mword\x1b[22;39m"
    assert tinted("word", Pace.STALLED) == "\x1b[1;31mword\x1b[22;39m"
    assert tinted("word", Pace.USUAL) == "word"


def test_only_what_can_be_seen_has_a_colour() -> None:
    assert tinted(" a b\n", Pace.LATE) == " \x1b[31ma b\x1b[22;39m\n"
    assert tinted("\n\n", Pace.LATE) == "\n\n"
    assert tinted("", Pace.LATE) == ""
