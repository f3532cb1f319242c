"""`nextok batch` with `--lookup` and `--draft`: the lines of a run without them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .conftest import Answered, Ask

GREEDY = ("--temp", "0")
Build = Callable[..., Path]


@pytest.fixture
def song_gguf(scripted: Build) -> Path:
    """Says "la li lo lu " for ever."""
    return scripted(["la ", "li ", "lo ", "lu "], loop=True, stem="song")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    lines = [
        {"prompt": "sing", "max_tokens": 150},
        {"prompt": "la li lo", "max_tokens": 41, "stop": ["lu la li lo lu la"]},
        {"prompt": "sing it", "max_tokens": 1},
        {"prompt": "hum", "max_tokens": 90},
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def said(ran: Answered) -> Mapping[object, object]:
    """By line, what guesses must not change."""
    assert (ran.code, ran.err) == (0, "")
    return {
        one["line"]: (one["text"], one["finish_reason"], one["stop"], one["completion_tokens"])
        for one in ran.lines
    }


@pytest.mark.parametrize("sampling", [GREEDY, ("--seed", "4", "--temp", "0.5"), ()])
def test_the_answers_are_the_same_and_take_fewer_steps(
    ask: Ask, song_gguf: Path, prompts: Path, sampling: tuple[str, ...]
) -> None:
    command = ("batch", prompts, "-np", "2", "-m", song_gguf, *sampling)
    plain, guessed = ask(*command), ask(*command, "--lookup")
    assert said(guessed) == said(plain)
    assert all("speculation" not in one for one in plain.lines)
    figures = {one["line"]: one["speculation"] for one in guessed.lines}
    if sampling == GREEDY:  # where times decide, a busy moment may forbid it
        assert figures[1]["accepted"] == figures[1]["drafted"] > 100
        assert figures[1]["steps"] < 40
    assert all(one["accepted"] <= one["drafted"] for one in figures.values())


def test_a_model_drafts_for_all_lines(ask: Ask, song_gguf: Path, prompts: Path) -> None:
    command = ("batch", prompts, "-np", "3", "-m", song_gguf, "--temp", "0.01")
    assert said(ask(*command, "--draft", song_gguf)) == said(ask(*command))


def test_a_memory_that_cannot_be_cut_goes_one_by_one(
    ask: Ask, recurrent_gguf: Path, prompts: Path
) -> None:
    command = ("batch", prompts, "-n", "9", "-m", recurrent_gguf, "--raw", *GREEDY)
    assert said(ask(*command, "--lookup")) == said(ask(*command))


def test_a_model_of_another_vocabulary_is_refused(
    ask: Ask, song_gguf: Path, emoji_gguf: Path, prompts: Path
) -> None:
    ask("batch", prompts, "-m", song_gguf, "--draft", emoji_gguf).check_failed(
        1, "cannot draft for song"
    )


def test_results_without_guesses_are_gone_on_with(
    ask: Ask, song_gguf: Path, prompts: Path, tmp_path: Path
) -> None:
    """They change no word, so they are no setting that answers depend on."""
    results = tmp_path / "results.jsonl"
    command = ("batch", prompts, "-m", song_gguf, *GREEDY, "--resume", results)
    assert ask(*command).code == 0
    before = results.read_text()
    again = ask(*command, "--lookup")
    assert again.code == 0
    assert results.read_text() == before
