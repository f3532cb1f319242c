"""The bottom line's exact texts, by the room there is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wcwidth import wcswidth

from nextok.cli.chat.bottom_line import BottomState, fragments

STATE = BottomState(
    model="SmolLM2-135M-Instruct-Q8_0",
    context_used=1204,
    context_size=8192,
    ttft_seconds=0.213,
    tokens_per_second=47.2,
)
BUSY = replace(STATE, branch="try-2", note="saved")


def line(state: BottomState, width: int, encoding: str = "utf-8") -> str:
    return "".join(text for _, text in fragments(state, width, encoding=encoding))


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (
            120,
            "SmolLM2-135M-Instruct-Q8_0  ▰▱▱▱▱▱▱▱ 1,204/8,192"
            + " " * 47
            + "TTFT 0.21 s · 47 tokens/s",
        ),
        (
            80,
            "SmolLM2-135M-Instruct-Q8_0  ▰▱▱▱▱▱▱▱ 1,204/8,192"
            + " " * 7
            + "TTFT 0.21 s · 47 tokens/s",
        ),
        (74, "SmolLM2-135M-Instruct-Q8_0  ▰▱▱▱▱▱▱▱ 1,204/8,192" + " " * 15 + "47 tokens/s"),
        (50, "SmolLM2-135M-Instruct-Q8_0  ▰▱▱▱▱▱▱▱ 1,204/8,192"),
        (40, "SmolLM2-135M-Inst…  ▰▱▱▱▱▱▱▱ 1,204/8,192"),
        (20, "SmolLM…  1,204/8,192"),
        (15, "1,204/8,192"),
        (10, ""),
    ],
)
def test_what_fits_is_shown(width: int, text: str) -> None:
    assert line(STATE, width) == text


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (
            120,
            "SmolLM2-135M-Instruct-Q8_0  try-2  ▰▱▱▱▱▱▱▱ 1,204/8,192  saved"
            + " " * 33
            + "TTFT 0.21 s · 47 tokens/s",
        ),
        (80, "SmolLM2-135M-Instruct-Q8_0  try-2  ▰▱▱▱▱▱▱▱ 1,204/8,192  saved       47 tokens/s"),
        (40, "SmolLM2-135M…  try-2  1,204/8,192  saved"),
        (20, "SmolLM…  1,204/8,192"),
    ],
)
def test_branch_and_note_have_their_places(width: int, text: str) -> None:
    assert line(BUSY, width) == text


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (80, "SmolLM2-135M-Instruct-Q8_0  #------- 1,204/8,192       TTFT 0.21 s | 47 tokens/s"),
        (40, "SmolLM2-135M-Inst~  #------- 1,204/8,192"),
    ],
)
def test_ascii_where_the_encoding_has_nothing_else(width: int, text: str) -> None:
    assert line(STATE, width, "ascii") == line(STATE, width, "iso-8859-1") == text
    assert line(STATE, width, "no such encoding") == text


@pytest.mark.parametrize(
    ("used", "bar", "style"),
    [
        (0, "▱▱▱▱▱▱▱▱", "context"),
        (1, "▰▱▱▱▱▱▱▱", "context"),
        (4096, "▰▰▰▰▱▱▱▱", "context"),
        (6962, "▰▰▰▰▰▰▰▱", "context"),
        (6964, "▰▰▰▰▰▰▰▱", "nearly-full"),
        (8192, "▰▰▰▰▰▰▰▰", "nearly-full"),
        (9000, "▰▰▰▰▰▰▰▰", "nearly-full"),
    ],
)
def test_the_bar_fills_and_stands_out(used: int, bar: str, style: str) -> None:
    found = fragments(replace(STATE, context_used=used), 80)
    assert (f"class:bottom-line.{style}", f"{bar} {used:,}/8,192") in found


@pytest.mark.parametrize(
    ("ttft", "rate", "text"),
    [
        (0.0, 0.94, "TTFT 0.00 s · 0.9 tokens/s"),
        (9.949, 9.94, "TTFT 9.95 s · 9.9 tokens/s"),
        (9.96, 9.96, "TTFT 10.0 s · 10 tokens/s"),
        (123.4, 1234.5, "TTFT 123 s · 1234 tokens/s"),
        (None, 47.0, "47 tokens/s"),
        (0.2, None, "TTFT 0.20 s"),
        (None, None, ""),
    ],
)
def test_figures_have_two_or_three_digits(
    ttft: float | None, rate: float | None, text: str
) -> None:
    state = replace(STATE, ttft_seconds=ttft, tokens_per_second=rate)
    assert line(state, 80).partition("8,192")[2].strip() == text


def test_a_context_of_unknown_size_is_left_out() -> None:
    assert line(replace(STATE, context_size=0, ttft_seconds=None), 40) == (
        "SmolLM2-135M-Instruct-Q8_0   47 tokens/s"
    )


def test_it_never_is_wider_than_the_room() -> None:
    wide = replace(BUSY, model="模型" * 20, branch="分支", note="a\nnote\x1b[31m")
    for width in range(130):
        for state in (STATE, BUSY, wide):
            assert wcswidth(line(state, width)) <= width
    assert "\x1b" not in line(wide, 200) and "\n" not in line(wide, 200)
