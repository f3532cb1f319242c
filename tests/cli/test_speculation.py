"""`--lookup` and `--draft` in real runs: the answer of a run without them, in fewer steps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Build = Callable[..., Path]
#: Greedy, so that the text alone decides how far is guessed: these weights are F32.
GREEDY = ("--temp", "0")


@pytest.fixture
def song_gguf(scripted: Build) -> Path:
    """Says "la li lo lu " for ever."""
    return scripted(["la ", "li ", "lo ", "lu "], loop=True, stem="song")


def test_the_answer_is_the_same_and_takes_fewer_steps(ask: Ask, song_gguf: Path) -> None:
    plain = ask("-m", song_gguf, *GREEDY, "-n", "150", "--json", "sing").object
    guessed = ask("-m", song_gguf, *GREEDY, "-n", "150", "--json", "--lookup", "sing").object
    for name in ("text", "finish_reason", "prompt_tokens", "completion_tokens"):
        assert guessed[name] == plain[name]
    assert "speculation" not in plain
    figures = guessed["speculation"]
    assert figures["accepted"] == figures["drafted"] > 100
    assert figures["steps"] < 30
    assert figures["gain"] > 0


def test_without_a_guess_the_figures_are_there(ask: Ask, emoji_gguf: Path) -> None:
    report = ask("-m", emoji_gguf, "--json", "--lookup", *GREEDY, "hi").object
    assert report["text"] == "Hi 😀 bye"
    assert report["speculation"] == {"drafted": 0, "accepted": 0, "steps": 0, "gain": None}


def test_the_trace_says_which_tokens_were_guessed(
    ask: Ask, song_gguf: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    answered = ask("-m", song_gguf, *GREEDY, "-n", "80", "--lookup", "--trace", trace, "sing")
    assert answered.out.decode() == "la li lo lu " * 20 + "\n"
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    tokens = [line for line in lines if line["type"] == "token"]
    assert [token["i"] for token in tokens] == [*range(80)]
    steps = [[*turn] for _, turn in itertools.groupby(tokens, key=lambda one: one["t_ms"])]
    assert max(map(len, steps)) > 4
    for step in steps:
        assert [token["drafted"] for token in step] == [True] * (len(step) - 1) + [False]
        assert len({token["gap_ms"] for token in step}) == 1
    drafted = sum(token["drafted"] for token in tokens)
    assert lines[-1]["speculation"]["accepted"] == drafted


def test_the_figures_are_in_the_stats(ask: Ask, song_gguf: Path) -> None:
    answered = ask("-m", song_gguf, *GREEDY, "-n", "60", "--lookup", "--stats", "sing")
    first, second = answered.err.splitlines()
    assert "60 tokens" in first
    assert " guesses, " in second and " × · 1 thread" in second
    assert "guesses" not in ask("-m", song_gguf, "-n", "9", "--stats", "sing").err


@pytest.mark.parametrize("count", [1, 11, 64])
def test_max_tokens_is_exact(ask: Ask, song_gguf: Path, count: int) -> None:
    text = ("la li lo lu " * 16)[: 3 * count]
    report = ask("-m", song_gguf, *GREEDY, "-n", str(count), "--lookup", "--json", "x").object
    assert (report["text"], report["completion_tokens"]) == (text, count)
    assert report["finish_reason"] == "length"


@pytest.mark.parametrize("stop", ["lo lu la", "i l"])
def test_stop_strings_end_it_where_they_would(ask: Ask, song_gguf: Path, stop: str) -> None:
    runs = [
        ask("-m", song_gguf, *GREEDY, "--json", "-r", stop, *more, "sing").object
        for more in ((), ("--lookup",))
    ]
    for name in ("text", "stop", "finish_reason", "completion_tokens"):
        assert runs[0][name] == runs[1][name]
    assert runs[0]["finish_reason"] == "stop"


def test_a_full_context_ends_it_at_the_same_token(ask: Ask, song_gguf: Path) -> None:
    runs = [
        ask("-m", song_gguf, *GREEDY, "-c", "256", "--json", *more, "sing")
        for more in ((), ("--lookup",))
    ]
    assert [run.code for run in runs] == [3, 3]
    assert runs[0].object["text"] == runs[1].object["text"]
    assert runs[1].object["completion_tokens"] > 200
    assert runs[1].object["speculation"]["accepted"] > 100


@pytest.mark.parametrize(
    "sampling",
    [
        ("--seed", "5", "--temp", "0.9", "--top-k", "6"),
        ("--temp", "0", "--repeat-penalty", "1.4", "--repeat-last-n", "3"),
        ("--seed", "2", "--presence-penalty", "2", "--repeat-last-n", "-1"),
    ],
    ids=["sampled", "repeat", "presence"],
)
def test_what_is_drawn_stays_the_same(ask: Ask, song_gguf: Path, sampling: tuple[str, ...]) -> None:
    """One-hot rows are exact: even sampled, each run of a seed says the same."""
    command = ("-m", song_gguf, *sampling, "-n", "70", "--json")
    plain = ask(*command, "la li lo lu la li").object
    guessed = ask(*command, "--lookup", "la li lo lu la li").object
    assert guessed["text"] == plain["text"]


def test_a_run_can_be_repeated(ask: Ask, song_gguf: Path) -> None:
    """Where rows depend on how many there are, times must not decide how many."""
    command = ("-m", song_gguf, "--seed", "1", "-n", "90", "--lookup", "--jsonl", "la li lo lu")

    def drafted() -> list[bool]:
        lines = ask(*command).lines
        return [line["drafted"] for line in lines if line["type"] == "token"]

    assert drafted() == drafted()


@pytest.mark.parametrize("model", ["recurrent_gguf", "hybrid_gguf"])
def test_a_memory_that_cannot_be_cut_goes_one_by_one(
    request: pytest.FixtureRequest, ask: Ask, terminal: Callable[..., Any], model: str
) -> None:
    path = request.getfixturevalue(model)
    command = ("-m", path, *GREEDY, "-n", "12", "--raw", "the cat runs the cat")
    plain, guessed = ask(*command), ask(*command, "--lookup")
    assert (guessed.code, guessed.out, guessed.err) == (0, plain.out, "")
    assert "speculation" not in ask(*command, "--lookup", "--json").object
    shown = terminal(*map(str, command), "--lookup").lines()
    assert sum("one token a step: the memory of this model is a state" in row for row in shown) == 1


def test_a_model_drafts_for_another(ask: Ask, song_gguf: Path) -> None:
    plain = ask("-m", song_gguf, *GREEDY, "-n", "40", "sing")
    guessed = ask("-m", song_gguf, *GREEDY, "-n", "40", "--draft", song_gguf, "sing")
    assert (guessed.code, guessed.out, guessed.err) == (0, plain.out, "")
    toy = ask("-m", "toy", *GREEDY, "--draft", "toy", "--json", "The model ").object
    assert toy["text"] == ask("-m", "toy", *GREEDY, "--json", "The model ").object["text"]


def test_a_model_as_large_as_its_master_is_left_alone(ask: Ask, song_gguf: Path) -> None:
    """Where times may not decide, sizes do; where they may, it is tried."""
    command = ("-m", song_gguf, "-n", "60", "--json", "--draft", song_gguf, "sing")
    greedy, sampled = ask(*command, *GREEDY).object, ask(*command, "--temp", "0.01").object
    assert greedy["speculation"]["steps"] == 0
    assert sampled["speculation"]["steps"] > 0
    assert sampled["text"] == greedy["text"] == "la li lo lu " * 15


def test_a_model_of_another_vocabulary_is_refused(
    ask: Ask, song_gguf: Path, emoji_gguf: Path, recurrent_gguf: Path
) -> None:
    ask("-m", song_gguf, "--draft", emoji_gguf, "hi").check_failed(
        1, "emoji cannot draft for song", "token", "same family"
    )
    ask("-m", song_gguf, "--draft", "toy", "hi").check_failed(1, "toy cannot draft for song")


def test_a_chat_with_a_model_of_another_vocabulary_ends(
    ask: Ask, song_gguf: Path, emoji_gguf: Path
) -> None:
    chat = ask("chat", "-m", song_gguf, "--no-save", "--draft", emoji_gguf, input=b"hi\n")
    assert (chat.code, chat.out) == (1, b"")
    chat.check_line("error", "emoji cannot draft for song")


def test_a_draft_model_is_not_overwritten(ask: Ask, song_gguf: Path, tmp_path: Path) -> None:
    draft = tmp_path / "draft.gguf"
    draft.write_bytes(song_gguf.read_bytes())
    ran = ask("-m", song_gguf, "--draft", draft, "--trace", draft, "hi")
    ran.check_failed(2, "--trace", "reads")
    assert draft.read_bytes() == song_gguf.read_bytes()


def test_a_model_that_is_not_there_is_refused(ask: Ask, song_gguf: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.gguf"
    named = ask("-m", missing, "hi")
    drafting = ask("-m", song_gguf, "--draft", missing, "hi")
    assert (drafting.code, drafting.err) == (named.code, named.err)


def test_both_at_once_are_refused(ask: Ask, song_gguf: Path) -> None:
    ask("-m", song_gguf, "--lookup", "--draft", song_gguf, "hi").check_failed(
        2, "--lookup and --draft exclude each other"
    )
    plain = ask("-m", song_gguf, *GREEDY, "-n", "30", "hi")
    stronger = ask(
        "-m", song_gguf, *GREEDY, "-n", "30", "--draft", song_gguf, "hi",
        env={"NEXTOK_LOOKUP": "1"},
    )  # fmt: skip
    assert (stronger.code, stronger.out) == (0, plain.out)


@pytest.fixture
def turns(ask: Ask) -> Callable[..., list[dict[str, Any]]]:
    """`turns(model, *flags)`: the last line of each of three turns of a chat."""

    def run(model: Path, *flags: str) -> list[dict[str, Any]]:
        lines = b"la li lo lu\nagain\nla li lo lu la\n"
        ran = ask("chat", "-m", model, *GREEDY, "--no-save", "--jsonl", *flags, input=lines)
        assert ran.code in (0, 3), ran
        return [line for line in ran.lines if line["type"] == "end"]

    return run


@pytest.mark.parametrize(
    "flags",
    [
        ("-n", "40"),
        ("-n", "40", "-c", "128"),
        ("-n", "150", "-c", "256", "--on-full", "shift"),
    ],
    ids=["plain", "dropped", "shifted"],
)
def test_a_chat_says_the_same(
    turns: Callable[..., list[dict[str, Any]]], song_gguf: Path, flags: tuple[str, ...]
) -> None:
    """And its cache serves the next turn as well."""
    plain, guessed = turns(song_gguf, *flags), turns(song_gguf, "--lookup", *flags)
    assert len(plain) == len(guessed) == 3
    for one, other in zip(plain, guessed, strict=True):
        for name in ("text", "finish_reason", "prompt_tokens", "cached_tokens"):
            assert one[name] == other[name]
    assert sum(turn["speculation"]["accepted"] for turn in guessed) > 30


def test_a_chat_with_a_draft_model(
    turns: Callable[..., list[dict[str, Any]]], song_gguf: Path
) -> None:
    plain = turns(song_gguf, "-n", "30")
    guessed = turns(song_gguf, "-n", "30", "--draft", str(song_gguf))
    assert [turn["text"] for turn in guessed] == [turn["text"] for turn in plain]


def test_a_thinking_budget_is_kept(
    turns: Callable[..., list[dict[str, Any]]], scripted: Build
) -> None:
    """The block is closed in the middle of what was guessed."""
    thinks = scripted(["<think>", "so ", "on ", "and "], loop=True, stem="ponders")
    flags = ("-n", "60", "--think-budget", "17")
    plain, guessed = turns(thinks, *flags), turns(thinks, "--lookup", *flags)
    for one, other in zip(plain, guessed, strict=True):
        assert (one["text"], one["reasoning"]) == (other["text"], other["reasoning"])
    assert guessed[0]["reasoning"].strip() == "so on and <think>" * 4 + "so"
    assert guessed[0]["speculation"]["accepted"] > 10


def test_a_setting_of_the_config_file(
    ask: Ask, song_gguf: Path, config_file: Callable[[str], Path]
) -> None:
    config_file(f'[models."{song_gguf}"]\nlookup = true\n')
    report = ask("-m", song_gguf, *GREEDY, "-n", "60", "--json", "sing").object
    assert report["speculation"]["accepted"] > 20
    off = ask("-m", song_gguf, *GREEDY, "-n", "60", "--json", "--no-lookup", "sing").object
    assert "speculation" not in off
