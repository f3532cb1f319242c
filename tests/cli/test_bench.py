"""`nextok bench`: the figures' shape, for a program, in a pipe, on a terminal; and its endings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.llama_library import takes_halves_by_128
from nextok.cli.arguments import parse
from nextok.cli.bench_models import references, within
from nextok.cli.bench_progress import line
from nextok.cli.bench_words import rate, ratio, taken
from nextok.cli.config_file import ConfigFile
from nextok.cli.console import Console
from nextok.cli.resolution import resolve
from nextok.generation.errors import ContextError, UsageError
from nextok.lab.bench_plan import Kind, Measure, Plan, Step, Subject
from nextok.lab.bench_run import Progress
from nextok.lab.noise import Finding, Ratio

Ask = Callable[..., Any]
SMALL = ("-t", "1", "--prefill", "8,24", "--depth", "0,16", "--tokens", "4", "--runs", "2")
SCRIPT = Path(sys.executable).with_name("nextok")


@pytest.fixture
def bench(ask: Ask) -> Ask:
    """`bench(*arguments)`: the small sizes, unless others are given after them."""

    def run(*arguments: Any, **options: Any) -> Any:
        return ask("bench", *SMALL, *arguments, **options)

    return run


def test_the_object(bench: Ask, loop_gguf: Path) -> None:
    ran = bench("-m", loop_gguf, "-fa", "on", "--json")
    assert (ran.code, ran.err) == (0, "")
    told = ran.object
    assert (told["finish_reason"], told["rounds"]) == ("done", {"asked": 2, "whole": 2})
    assert told["settings"] == {
        "batch_size": 512, "ubatch_size": 128, "flash_attn": "on", "cache_type_k": "f16",
        "cache_type_v": "f16", "context_tokens": 24,
    }  # fmt: skip
    (model,) = told["models"]
    assert model["model"] == "loop" and 0 < model["weight_bytes"] < loop_gguf.stat().st_size
    measured = [(one["measure"], one["tokens"], one["depth"]) for one in told["speeds"]]
    assert measured == [("prefill", 8, 0), ("prefill", 24, 0), ("decode", 4, 0), ("decode", 4, 16)]
    for one in told["speeds"]:
        speed = one["tokens_per_s"]
        assert (one["model"], one["threads"], len(speed["samples"])) == ("loop", 1, 2)
        assert 0 < speed["low"] <= speed["median"] <= speed["high"]
    (answers,) = told["answers"]
    assert (answers["prompt_tokens"], answers["tokens"]) == (8, 4)
    assert 0 < answers["ttft_s"]["p50"] <= answers["ttft_s"]["max"]
    assert 0 < answers["itl_ms"]["p50"] <= answers["itl_ms"]["p95"] <= answers["itl_ms"]["max"]
    assert answers["loop_to_bare"]["finding"] == "too few runs"
    assert told["peak_resident_bytes"] > 10 << 20
    assert told["cpus"]["usable"] >= 1


def test_the_kv_cache_is_as_large_as_the_engine_makes_it(bench: Ask, loop_gguf: Path) -> None:
    """Whole steps of 256 tokens; a number of four bytes takes twice as much as one of two."""
    taken = [
        bench("-m", loop_gguf, "--json", "-ctk", kind, "-ctv", kind).object["models"][0]
        for kind in ("f16", "f32")
    ]
    half, whole = (one["kv_cache_bytes"] for one in taken)
    assert half % 256 == 0 and whole == 2 * half > 0


def test_thread_counts_are_held_against_the_first(bench: Ask) -> None:
    told = bench("-m", "toy", "--json", "-t", "2,1", "--runs", "5").object
    assert [one["threads"] for one in told["speeds"]] == [2, 1] * 4
    first, second = told["speeds"][:2]
    assert (first["against"], first["ratio"]) == (None, None)
    assert second["against"] == {"model": "toy", "threads": 2}
    ratio = second["ratio"]
    assert ratio["low"] <= ratio["median"] <= ratio["high"]
    assert ratio["finding"] in ("different", "within noise")
    assert [one["threads"] for one in told["answers"]] == [2, 1]


def test_two_models_side_by_side(bench: Ask, loop_gguf: Path) -> None:
    ran = bench("--compare", "toy", loop_gguf, "--json", "--runs", "5")
    told = ran.object
    assert [one["model"] for one in told["models"]] == ["toy", "loop"]
    for ours, theirs in zip(told["speeds"][::2], told["speeds"][1::2], strict=True):
        assert (ours["model"], ours["ratio"]) == ("toy", None)
        assert theirs["against"] == {"model": "toy", "threads": 1}
        quotients = [
            b / a
            for a, b in zip(
                ours["tokens_per_s"]["samples"], theirs["tokens_per_s"]["samples"], strict=True
            )
        ]
        assert theirs["ratio"]["median"] == pytest.approx(sorted(quotients)[2], rel=1e-2)


@pytest.mark.parametrize(("threads", "wide"), [("1", "on"), ("2", "off"), ("1,2", "off")])
def test_attention_is_that_of_a_run(
    bench: Ask, starter_gguf: Path, threads: str, wide: str
) -> None:
    """One thread computes these weights exactly, which takes flash attention."""
    told = bench("-m", starter_gguf, "-t", threads, "--depth", "none", "--json").object
    expected = wide if takes_halves_by_128() else "auto"
    assert told["settings"]["flash_attn"] == expected


def test_sizes_can_be_left_away(bench: Ask) -> None:
    told = bench("-m", "toy", "--prefill", "none", "--depth", "none", "--json").object
    assert told["speeds"] == [] and len(told["answers"]) == 1
    assert told["answers"][0]["prompt_tokens"] == 128


def test_a_pipe_gets_names_and_values(bench: Ask) -> None:
    ran = bench("-m", "toy")
    assert (ran.code, ran.err) == (0, "")
    names = [one.split("  ")[0] for one in ran.out.decode().splitlines()]
    assert names[:5] == ["model", "memory", "peak memory", "rounds", "settings"]
    assert names[-7:] == [
        "prefill 8, 1 thread", "prefill 24, 1 thread", "decode at 0, 1 thread",
        "decode at 16, 1 thread", "TTFT, 1 thread", "ITL, 1 thread", "loop, 1 thread",
    ]  # fmt: skip


def test_a_page_fits_the_terminal(terminal: Callable[..., Any]) -> None:
    shown = terminal("bench", "-m", "toy", *SMALL, "-t", "1,2", dimensions=(60, 200))
    lines = shown.lines()
    page = "\n".join(lines)
    assert all(len(one) <= 80 for one in lines)  # COLUMNS says so
    heads = ("tokens/s", "median", "÷ 1 thread", "TTFT", "ITL", "bare loop", "p99")
    assert [one for one in heads if one not in page] == []
    assert "2 of 2 rounds" in page and "fewer than 5 rounds" in page
    assert sum(one.startswith("prefill 24") for one in lines) == 1  # once for both counts


def test_letters_stand_for_two_models(terminal: Callable[..., Any], loop_gguf: Path) -> None:
    models = ("--compare", "toy", str(loop_gguf))
    page = "\n".join(terminal("bench", *models, *SMALL, dimensions=(60, 80)).lines())
    wanted = ("A  toy", "B  loop", "B ÷ A", "A, 1 thread", "B, 1 thread")
    assert [one for one in wanted if one not in page] == []


def test_a_narrow_terminal_gets_names_and_values(terminal: Callable[..., Any]) -> None:
    size: dict[str, Any] = {"dimensions": (60, 50), "COLUMNS": "50"}
    page = terminal("bench", "-m", "toy", *SMALL, **size).rest()
    assert "loop, 1 thread" in page and "──" not in page


def test_an_interrupt_shows_what_was_measured(terminal: Callable[..., Any]) -> None:
    many = ("--runs", "1000", "--tokens", "100")
    child = terminal("bench", "-m", "toy", *SMALL, *many, dimensions=(60, 80))
    child.expect(rb"round ([2-9]|\d\d+) of 1000 .* to go")
    child.sendintr()
    lines = child.lines()
    assert child.signalstatus == signal.SIGINT
    page = "\n".join(lines)
    assert "of 1000 rounds, interrupted" in page and "decode at 16" in page


def test_an_interrupted_object_says_so() -> None:
    """By SIGTERM, too, and in a pipe; standard error is a terminal, to see how far it is."""
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [SCRIPT, "bench", "-m", "toy", *SMALL, "--runs", "1000", "--tokens", "100", "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    said = b""
    while b"to go" not in said:
        said += os.read(ours, 4096)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=60)
    os.close(ours)
    assert child.returncode == -signal.SIGTERM
    assert b'"finish_reason": "interrupted"' in out and b'"asked": 1000' in out


def test_a_reader_that_has_left_is_left_alone() -> None:
    """Nothing is measured for nobody."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [str(SCRIPT), "bench", "-m", "toy", *SMALL, "--runs", "1000"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--compare", "toy"), "--compare takes two models"),
        (("--compare", "toy", "toy", "-m", "toy"), "--compare takes two models"),
        (("toy", "toy"), "name one, or two with --compare"),
        (("toy", "-m", "toy"), "name one, or two with --compare"),
        (("-t", "0"), "whole numbers from 1 to 1024, such as 1,2 or auto"),
        (("--prefill", "1,,2"), "--prefill must be whole numbers from 1 to 1048576"),
        (("--depth", "-1"), "--depth"),
        (("--tokens", "1"), "from 2 to"),
        (("--runs", "0"), "from 1 to"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    ask: Ask, arguments: tuple[str, ...], words: str
) -> None:
    ask("bench", *arguments).check_failed(2, words)


def test_a_failure_is_one_object(ask: Ask, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF")
    ran = ask("bench", "-m", bad, "--json")
    assert ran.code == 1 and ran.object["code"] == 1


def test_what_was_measured_before_a_failure_is_shown(bench: Ask, nan_gguf: Path) -> None:
    """Its passes can be timed; the answer after them cannot be drawn."""
    ran = bench("-m", nan_gguf)
    assert ran.code == 1 and b"0 of 2 rounds, error" in ran.out and b"decode at 16" in ran.out
    ran.check_line("error", "NaN")
    failed = bench("-m", nan_gguf, "--json")
    assert (failed.code, failed.object["code"]) == (1, 1)


def test_sizes_beyond_the_training_are_left_out(bench: Ask, scripted: Callable[..., Path]) -> None:
    path = scripted(["la ", "li "], loop=True, stem="short", ctx_train=20)
    ran = bench("-m", path, "--json")
    measured = [(one["measure"], one["depth"] or one["tokens"]) for one in ran.object["speeds"]]
    assert measured == [("prefill", 8), ("decode", 4), ("decode", 16)]
    ran.check_line("warning", "beyond the 20 tokens")
    bench("-m", path, "--tokens", "13").check_failed(3, "20 tokens", "--tokens")


def test_a_plan_that_fits_is_left_alone() -> None:
    silent = Console(stream=None, terminal=False, color=False)
    plan = Plan(prefill=(8, 64), depths=(0,), tokens=4)
    assert within(plan, 64, silent) == within(plan, None, silent) == plan
    with pytest.raises(ContextError):
        within(plan, 11, silent)


def test_lists_of_numbers() -> None:
    values = parse(["-t", "4,1,4", "--prefill", "none", "--depth", "0, 7"], "bench").values
    assert values == {"thread_counts": (4, 1), "prefill_sizes": (), "depths": (0, 7)}
    assert parse(["-t", "auto"], "bench").values == {"thread_counts": ()}
    with pytest.raises(UsageError):
        parse(["--depth", ""], "bench")


def test_which_models_are_meant() -> None:
    config = ConfigFile(path="", defaults={}, commands={}, models={}, aliases={})
    named = resolve("bench", {"model": "m"}, {}, config)
    unnamed = resolve("bench", {}, {"NEXTOK_MODEL": "m"}, config)
    assert references([], named, compare=False) == [None]
    assert references(["a"], unnamed, compare=False) == ["a"]
    assert references(["a", "b"], unnamed, compare=True) == ["a", "b"]


def test_the_status_line_counts_down() -> None:
    plan = Plan(rounds=3, threads=(1, 2), models=2)
    step = Step(1, Measure(Kind.DECODE, 2048, 64), Subject(1, 2))
    now = Progress(step=step, done=3, total=9, left_seconds=70.0)
    assert line(plan, now, 5.0) == (
        "round 2 of 3 · decode at 2048, B, 2 threads · about 1 min 05 s to go"
    )
    assert line(plan, now, 500.0).endswith("about 0 s to go")
    unknown = Progress(step=step, done=0, total=9, left_seconds=None)
    assert line(plan, unknown, 5.0) == "round 2 of 3 · decode at 2048, B, 2 threads"


def test_figures_are_written_with_what_they_mean() -> None:
    written = [rate(one) for one in (4.567, 45.67, 456.7, 4567.0)]
    assert written == ["4.57", "45.7", "456.7", "4,567"]
    sure = Ratio(median=0.985, low=0.98, high=0.99, finding=Finding.DIFFERENT)
    assert (ratio(sure), taken(sure)) == ("0.98 (0.98 to 0.99)", "1.5 % (1.0 to 2.0)")
    noise = Ratio(median=1.01, low=0.97, high=1.04, finding=Finding.NOISE)
    assert ratio(noise) == "1.01 (0.97 to 1.04) noise"
    assert ratio(None) == taken(None) == "-"
