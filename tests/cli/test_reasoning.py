"""Reasoning blocks: a pipe gets the answer alone, `--think show` all of it, `--json` both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Build = Callable[..., Path]
Piece = str | bytes | tuple[str, str]

TEXT_TAGS: list[Piece] = ["<th", "ink>\nw", "hy", "\n</", "thi", "nk>", "\n\n", "ans", "wer\n"]
CONTROL_TAGS: list[Piece] = [("ctl", "<think>"), "why", ("ctl", "</think>"), "\n\n", "answer"]
OPENS = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}<|go|><think>\n"


@pytest.mark.parametrize(
    ("script", "reasoning", "answer"),
    [(TEXT_TAGS, "\nwhy\n", "answer\n"), (CONTROL_TAGS, "why", "answer")],
    ids=["text", "control tokens"],
)
def test_a_block_is_no_part_of_the_answer(
    ask: Ask, scripted: Build, script: list[Piece], reasoning: str, answer: str
) -> None:
    model = scripted(script, stem="thinks")
    piped = ask("-m", model, "hi")
    assert (piped.code, piped.out, piped.err) == (0, b"answer\n", "")
    report = ask("-m", model, "--json", "hi").object
    assert (report["text"], report["reasoning"]) == (answer, reasoning)
    assert (report["finish_reason"], report["completion_tokens"]) == ("eos", len(script))
    shown = ask("-m", model, "--think", "show", "hi")
    assert shown.out == f"<think>{reasoning}</think>\n\nanswer\n".encode()


def test_a_block_that_the_template_has_opened(ask: Ask, scripted: Build) -> None:
    model = scripted(["why", "</thi", "nk>", "\n", "yes"], template=OPENS, stem="opened")
    assert ask("-m", model, "hi").out == b"yes\n"
    report = ask("-m", model, "--json", "hi").object
    assert (report["text"], report["reasoning"]) == ("yes", "why")
    assert ask("-m", model, "--think", "show", "hi").out == b"why</think>\nyes\n"


def test_a_block_that_a_prefill_has_opened(ask: Ask, scripted: Build) -> None:
    model = scripted(["why", "</think>", "yes"], stem="prefilled")
    assert ask("-m", model, "--prefill", "<think>", "hi").out == b"yes\n"


def test_a_block_cut_off_by_the_limit_leaves_no_answer(ask: Ask, scripted: Build) -> None:
    model = scripted(TEXT_TAGS, stem="thinks")
    cut = ask("-m", model, "-n", "3", "hi")
    assert (cut.code, cut.out, cut.err) == (0, b"", "")
    report = ask("-m", model, "-n", "3", "--json", "hi").object
    assert (report["text"], report["reasoning"]) == ("", "\nwhy")
    assert (report["completion_tokens"], report["finish_reason"]) == (3, "length")


def test_half_a_tag_is_an_answer(ask: Ask, scripted: Build) -> None:
    assert ask("-m", scripted(["<th", "e end"], stem="half"), "hi").out == b"<the end\n"
    model = scripted(TEXT_TAGS, stem="thinks")
    assert ask("-m", model, "-n", "1", "hi").out == b"<th\n"


def test_a_tag_further_on_is_text(ask: Ask, scripted: Build) -> None:
    model = scripted(["Use ", "<think>", "x", "</think>"], stem="mentions")
    assert ask("-m", model, "hi").out == b"Use <think>x</think>\n"
    assert "reasoning" not in ask("-m", model, "--json", "hi").object


def test_raw_text_is_taken_as_it_is(ask: Ask, scripted: Build) -> None:
    model = scripted(TEXT_TAGS, stem="thinks")
    raw = ask("-m", model, "--raw", "hi")
    assert raw.out == b"<think>\nwhy\n</think>\n\nanswer\n"


def test_a_stop_string_ends_the_reasoning_too(ask: Ask, scripted: Build) -> None:
    model = scripted(TEXT_TAGS, stem="thinks")
    report = ask("-m", model, "-r", "hy", "--json", "hi").object
    assert (report["text"], report["reasoning"]) == ("", "\nw")
    assert (report["finish_reason"], report["stop"]) == ("stop", "hy")


def test_the_events_hold_every_token_of_a_block(ask: Ask, scripted: Build) -> None:
    model = scripted(TEXT_TAGS, stem="thinks")
    lines = ask("-m", model, "--jsonl", "hi").lines
    said = "".join(line["text"] for line in lines if line["type"] == "token")
    assert said == "<think>\nwhy\n</think>\n\nanswer\n"
    assert (lines[-1]["text"], lines[-1]["reasoning"]) == ("answer\n", "\nwhy\n")
