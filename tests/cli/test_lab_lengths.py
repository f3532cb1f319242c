"""`nextok lab lengths` as a process: a log, the journal, fresh answers, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nextok.backends.journal import Journal, Row

pytest.importorskip("scipy")

Ask = Callable[..., Any]
TOKENS = np.random.default_rng(1).gamma(2, 100, 40).round().astype(int)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    rows = (f"{place},{100 + place},{tokens}\n" for place, tokens in enumerate(TOKENS))
    path.write_text("id,prompt_tokens,generated_tokens\n" + "".join(rows))
    return path


@pytest.fixture
def long_log(tmp_path: Path) -> Path:
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps({"output_tokens": int(20 * one)}) + "\n" for one in TOKENS))
    return path


@pytest.mark.slow
def test_a_log_needs_no_model(ask: Ask, log: Path, long_log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    words = ("lab", "lengths", "--log", log, "--other-log", long_log, "--json")
    done = ask(*words, "-o", folder)
    assert done.code == 0, done.err
    whole = done.object
    found = whole
    assert (found["n"], found["max"]) == (40, int(TOKENS.max()))
    assert found["mean"] == pytest.approx(TOKENS.mean(), rel=1e-6)
    assert found["p95"] == pytest.approx(np.percentile(TOKENS, 95), rel=1e-6)
    assert found["cost_ratio"]["ratio"] == pytest.approx(20, rel=1e-6)
    assert {"p50", "p99", "top1_share", "intervals"} <= set(found)
    assert whole["model"] == ""
    assert whole["command"] == f"nextok lab lengths -t 1 --log {log} --other-log {long_log}"
    names = {one.name for one in folder.iterdir()}
    for chart in ("histogram", "qq", "ccdf", "caps"):
        assert {f"lengths-{chart}.png", f"lengths-{chart}.svg"} <= names
    again = ask(*words).object
    for one in (whole, again):
        del one["times"]
    assert json.dumps(again) == json.dumps(whole)


def test_a_log_may_come_through_a_pipe(ask: Ask, log: Path) -> None:
    named, piped = (
        ask("lab", "lengths", "--log", name, "--json", input=log.read_bytes()).object
        for name in (log, "-")
    )
    assert (piped["n"], piped["fits"]) == (named["n"], named["fits"])


def test_the_journal(ask: Ask, state_folder: Path) -> None:
    journal = Journal(state_folder / "journal.sqlite")
    for place, tokens in enumerate((3, 5, 9, 40)):
        row = Row(
            ended_at=1.0, command="generate", model="ab"[place % 2], finish="eos",
            completion_tokens=tokens, version="0.1.0",
        )  # fmt: skip
        assert journal.add(row)
    home = {"XDG_STATE_HOME": str(state_folder.parent)}
    everything = ask("lab", "lengths", "--journal", "--json", env=home).object
    assert (everything["n"], everything["mean"], everything["source"]) == (4, 14.25, "the journal")
    one = ask("lab", "lengths", "--journal", "-m", "b", "--json", env=home).object
    assert (one["n"], one["p50"]) == (2, 22.5)
    assert one["command"] == "nextok lab lengths -m b -t 1 --journal"


def test_fresh_answers(ask: Ask, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("".join(f"prompt number {place} is {'x' * place}\n" for place in range(12)))
    done = ask("lab", "lengths", "-m", "toy", "-n", "300", "--prompts", prompts, "--json")
    assert done.code == 0, done.err
    found = done.object
    assert (done.object["model"], found["n"], found["complete"]) == ("toy", 12, True)
    assert found["max"] == 300
    assert 0 < found["cut"] < 12
    assert found["predictions"][-1]["needs_prompt"]


@pytest.mark.parametrize(
    ("tokens", "cut", "words"),
    [
        ("20", 0, "No distribution can be fitted to a single length"),
        ("3", 2, "All were cut off there: no distribution can be fitted"),
    ],
)
def test_fresh_answers_of_one_length_are_told_and_not_fitted(
    ask: Ask, emoji_gguf: Path, tmp_path: Path, tokens: str, cut: int, words: str
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one\ntwo\n")
    flags = ("-m", emoji_gguf, "-n", tokens, "--prompts", prompts, "--json")
    done = ask("lab", "lengths", *flags)
    assert done.code == 0, done.err
    found = done.object
    assert (found["n"], found["cut"], found["complete"]) == (2, cut, True)
    assert found["mean"] == found["p50"] == found["max"]
    assert (found["fits"], found["verdict"], found["predictions"]) == ([], None, [])
    assert len(found["sentences"]) == 3
    assert found["sentences"][0] == f"All 2 answers have {found['max']} tokens."
    assert found["sentences"][1].startswith(words)


@pytest.mark.parametrize(
    ("prompts", "flags", "words"),
    [
        ("one\n", (), ("has one prompt", "two at least")),
        ("one\ntwo\n", ("-n", "20", "--cap", "5"), ("--cap 5", "20 tokens", "-n")),
    ],
)
def test_what_makes_fresh_answers_useless_is_told_before_a_model_is_loaded(
    ask: Ask, tmp_path: Path, prompts: str, flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text(prompts)
    missing = tmp_path / "nowhere.gguf"
    ask("lab", "lengths", "-m", missing, "--prompts", path, *flags).check_failed(2, *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("is empty",)),
        ("tokens,x\n5,a\n-1,b\n", ("negative (-1) in line 3",)),
        ("tokens,x\n5,a\n5,b\n", ("all 2 lengths are 5 (lines 2 to 3)",)),
    ],
)
def test_bad_data(ask: Ask, tmp_path: Path, content: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    ask("lab", "lengths", "--log", path).check_failed(2, "bad.csv", *words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--log", "a.csv", "--journal"), ("--log and --journal",)),
        (("--column", "x"), ("--column", "--log FILE")),
        (("--journal", "-n", "5"), ("-n is for fresh answers",)),
        (("--log", "a.csv", "-m", "toy"), ("-m chooses a model",)),
        (("--over-cap", "missing"), ("--over-cap missing", "--cap")),
        (("--log", "nowhere.csv"), ("cannot read nowhere.csv",)),
    ],
)
def test_flags_that_contradict(ask: Ask, flags: tuple[str, ...], words: tuple[str, ...]) -> None:
    ask("lab", "lengths", *flags).check_failed(2, *words)
