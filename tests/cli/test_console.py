"""What standard error gets, and what a terminal is never given."""

from __future__ import annotations

import io

import pytest

from nextok.cli.console import Console, console_for, one_line, use_color, visible
from nextok.cli.settings import ColorMode


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext ü 😀", "plain\n\ttext ü 😀"),
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("a\x00b\x7f", "a␀b␡"),
        ("a\rb", "a␍b"),
        ("a\r\nb\r", "a\r\nb␍"),
        ("\x9b31m\x85", "\ufffd31m\ufffd"),
        ("\u202eevil\u2066\u2069", "\ufffdevil\ufffd\ufffd"),
        ("\u200f\u200d", "\u200f\u200d"),
    ],
)
def test_nothing_a_terminal_would_obey_is_left(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_message_is_one_line() -> None:
    assert one_line(" two\n  lines\r\nand \x1b more ") == "two lines and ␛ more"


@pytest.mark.parametrize(
    ("mode", "terminal", "environ", "expected"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": ""}, True),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"TERM": "xterm"}, False),
    ],
)
def test_who_gets_colour(
    mode: ColorMode, terminal: bool, environ: dict[str, str], expected: bool
) -> None:
    assert use_color(mode, terminal=terminal, environ=environ) is expected


@pytest.mark.parametrize(
    ("terminal", "quiet", "said"),
    [
        (False, False, "nextok: error: e\nnextok: warning: w\n"),
        (True, False, "nextok: error: e\nnextok: warning: w\nnextok: n\n"),
        (True, True, "nextok: error: e\n"),
        (False, True, "nextok: error: e\n"),
    ],
)
def test_who_hears_what(terminal: bool, quiet: bool, said: str) -> None:
    stream = io.StringIO()
    console = Console(stream=stream, terminal=terminal, color=False, quiet=quiet)
    console.error("e")
    console.warning("w")
    console.note("n")
    assert stream.getvalue() == said


def test_a_file_of_errors_has_no_escape_codes() -> None:
    stream = io.StringIO()
    console_for(stream, "auto", {"TERM": "xterm"}).error("\x1b[2J")
    assert "\x1b" not in stream.getvalue()


def test_a_stream_that_is_gone_is_no_further_error() -> None:
    stream = io.StringIO()
    stream.close()
    console_for(stream, "auto", {}).error("e")
    console_for(None, "auto", {}).error("e")
