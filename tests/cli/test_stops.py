"""`--stop` on a real engine: the earliest start wins, and not one byte of it is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Build = Callable[..., Path]

PIECES = ["one ", "t", "wo <E", "N", "D> thr", "ee\n", "END"]
TEXT = "one two <END> three\nEND"


@pytest.fixture(scope="session")
def model(scripted: Build) -> Path:
    return scripted(PIECES, stem="stops")


@pytest.mark.parametrize(
    ("stops", "text", "found"),
    [
        (["<END>"], "one two ", "<END>"),
        (["o <END> t"], "one tw", "o <END> t"),
        (["<END>", "END"], "one two ", "<END>"),
        (["<END>", "<EN"], "one two ", "<EN"),
        ([" "], "one", " "),
        (["END> four", "three"], "one two <END> ", "three"),
        ([TEXT], "", TEXT),
    ],
)
def test_the_earliest_stop_ends_it(
    ask: Ask, model: Path, stops: list[str], text: str, found: str
) -> None:
    flags = [word for stop in stops for word in ("--stop", stop)]
    answered = ask("-m", model, "--json", *flags, "hi")
    report = answered.object
    assert (answered.code, answered.err) == (0, "")
    assert (report["text"], report["stop"], report["finish_reason"]) == (text, found, "stop")


@pytest.mark.parametrize("stop", ["END!"])
def test_what_was_held_back_is_released_at_the_end(ask: Ask, model: Path, stop: str) -> None:
    answered = ask("-m", model, "-r", stop, "hi")
    assert (answered.code, answered.out) == (0, TEXT.encode() + b"\n")


def test_what_was_held_back_is_released_at_the_limit(ask: Ask, model: Path) -> None:
    report = ask("-m", model, "-n", "4", "-r", "<END>", "--json", "hi").object
    assert (report["text"], report["finish_reason"]) == ("one two <EN", "length")
    assert report["stop"] is None


def test_no_byte_of_the_stop_is_shown(ask: Ask, model: Path) -> None:
    answered = ask("-m", model, "-r", "<END>", "hi")
    assert (answered.code, answered.out) == (0, b"one two \n")
    events = ask("-m", model, "-r", "<END>", "--jsonl", "hi").lines
    said = [event["text"] for event in events if event["type"] == "token"]
    assert said == ["one ", "t", "wo ", "", ""]


def test_a_stop_begins_inside_a_character_of_several_tokens(ask: Ask, emoji_gguf: Path) -> None:
    assert ask("-m", emoji_gguf, "-r", "\N{GRINNING FACE} b", "hi").out == b"Hi \n"


def test_a_stop_that_begins_with_a_dash(ask: Ask, scripted: Build) -> None:
    model = scripted(["a ", "-e", " b"], stem="dash")
    assert ask("-m", model, "--stop=-e", "hi").out == b"a \n"
    taken = ask("-m", model, "--stop", "-e", "hi")
    taken.check_failed(2, "-e is an option", "--stop=-e")


def test_an_empty_stop_is_refused(ask: Ask, model: Path) -> None:
    ask("-m", model, "--stop", "", "hi").check_failed(2, "--stop", "at least one character")


def test_a_backslash_in_a_stop_is_two_characters_without_escape(ask: Ask, scripted: Build) -> None:
    lines = scripted(["one", "\n", "two"], stem="lines")
    assert ask("-m", lines, "--stop", r"\n", "hi").out == b"one\ntwo\n"
    assert ask("-m", lines, "--escape", "--stop", r"\n", "hi").out == b"one\n"
    literal = scripted(["one", r"\n", "two"], stem="literal")
    assert ask("-m", literal, "--stop", r"\n", "hi").out == b"one\n"


def test_stops_from_the_environment(ask: Ask, model: Path) -> None:
    environ = {"NEXTOK_STOP": '["three", "<END>"]'}
    assert ask("-m", model, "hi", env=environ).out == b"one two \n"


def test_the_aliases(ask: Ask, model: Path) -> None:
    assert ask("-m", model, "--reverse-prompt", "two", "hi").out == b"one \n"
