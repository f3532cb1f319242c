"""What the bench says of time and size, and how far an experiment is."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from nextok.cli.config_file import ConfigFile
from nextok.cli.console import Console
from nextok.cli.lab_bench import SEED, Bench
from nextok.cli.lab_command import command_line, concerns
from nextok.cli.lab_experiments import find_experiment
from nextok.cli.lab_progress import ShownProgress
from nextok.cli.lab_settings import CacheLabSettings, LabSettings
from nextok.cli.resolution import resolve
from nextok.cli.status import Status
from nextok.cli.stdout import Stdout
from nextok.generation.abort import Abort, Aborted
from nextok.generation.finish import FinishReason


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def bench(
    stream: io.StringIO,
    given: Mapping[str, object],
    *,
    terminal: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Bench:
    console = Console(stream=stream, terminal=terminal, color=False)
    clock = Clock()
    return Bench(
        resolved=resolve("lab", given, environ or {}, ConfigFile(path="none")),
        console=console,
        status=Status(console, clock),
        stdout=Stdout(clock=clock, encoding="utf-8"),
        abort=Abort(),
        clock=clock,
        around_fetching=nullcontext,
    )


@pytest.mark.parametrize(("seconds", "terminal", "said"), [
    (100.0, False, ""),
    (100.0, True, "nextok: this will take about 1 min 40 s here\n"),
    (400.0, False, "nextok: warning: this will take about 6 min 40 s here: a smaller -n or a "
                   "smaller model makes it shorter\n"),
])  # fmt: skip
def test_a_long_run_is_said_in_a_log_too(seconds: float, terminal: bool, said: str) -> None:
    stream = io.StringIO()
    bench(stream, {}, terminal=terminal).announce_seconds(seconds)
    assert stream.getvalue() == said


def test_the_seed_is_fixed_unless_one_is_asked_for() -> None:
    assert bench(io.StringIO(), {}).seed == SEED
    assert bench(io.StringIO(), {"seed": 7}).seed == 7
    assert bench(io.StringIO(), {"model": "toy"}).subject().sampling.seed == SEED


def test_a_model_is_opened_once_and_freed_at_the_end() -> None:
    one = bench(io.StringIO(), {"model": "toy"})
    assert one.chosen is None
    assert one.subject() is one.subject()
    assert one.subject("toy") is not one.subject()
    assert one.chosen == "toy"
    one.close()
    assert one.chosen is None


def test_a_model_larger_than_memory_is_said(loop_gguf: Path) -> None:
    stream = io.StringIO()
    one = bench(stream, {"model": str(loop_gguf), "threads": 1})
    one = replace(one, free_bytes=lambda: 1000)
    one.subject()
    one.close()
    (line,) = stream.getvalue().splitlines()
    assert "loop.gguf has" in line and "1,000 bytes of memory are free" in line


def test_settings_are_filled_from_flags_and_defaults() -> None:
    one = bench(io.StringIO(), {"lab_tokens": 9, "cache_patience": 2.5})
    assert one.settings(LabSettings) == LabSettings(lab_tokens=9)
    assert one.settings(CacheLabSettings) == CacheLabSettings(cache_patience=2.5)


@pytest.mark.parametrize(("given", "command"), [
    ({}, "nextok lab cache -m m.gguf"),
    ({"model": "x", "json": True, "lab_folder": "o", "quiet": True}, "nextok lab cache -m m.gguf"),
    ({"lab_full": True, "mmap": False}, "nextok lab cache -m m.gguf --no-mmap --full"),
    ({"lab_prompt": "it's", "cache_patience": 3.0},
     "nextok lab cache -m m.gguf -p 'it'\"'\"'s' --patience 3.0"),
    ({"samplers": ("top_k", "temperature"), "loop_draws": 5},
     "nextok lab cache -m m.gguf --samplers 'top_k;temperature'"),
])  # fmt: skip
def test_the_command_has_the_flags_that_matter(given: Mapping[str, object], command: str) -> None:
    resolved = bench(io.StringIO(), given).resolved
    assert command_line(find_experiment("cache"), resolved, "m.gguf") == command


def test_the_command_has_what_the_environment_says() -> None:
    environ = {"NEXTOK_THREADS": "3", "NEXTOK_TOP_P": "0.5", "NEXTOK_COLOR": "never"}
    resolved = bench(io.StringIO(), {}, environ=environ).resolved
    command = command_line(find_experiment("loop"), resolved, "toy")
    assert command == "nextok lab loop -m toy -t 3 --top-p 0.5"


def test_without_a_model_the_command_names_none() -> None:
    resolved = bench(io.StringIO(), {}).resolved
    assert command_line(find_experiment("loop"), resolved, "") == "nextok lab loop"


def test_an_experiment_listens_to_its_own_flags_and_to_those_of_all() -> None:
    loop = find_experiment("loop")
    keys = ("loop_at", "lab_tokens", "lab_full", "temperature", "threads", "lab_prompts",
            "cache_patience")  # fmt: skip
    assert [concerns(key, loop) for key in keys] == [True] * 5 + [False] * 2


@pytest.fixture
def watched() -> tuple[ShownProgress, io.StringIO, Clock, Abort]:
    stream, clock, abort = io.StringIO(), Clock(), Abort()
    status = Status(Console(stream=stream, terminal=True, color=True), clock)
    return ShownProgress("cache", status, abort, clock), stream, clock, abort


def test_progress_says_how_much_is_left_once_that_can_be_told(
    watched: tuple[ShownProgress, io.StringIO, Clock, Abort],
) -> None:
    progress, stream, clock, _ = watched
    shown = []
    for seconds, done in ((2.0, 2), (10.0, 10)):
        clock.now = seconds
        stream.truncate(0)
        progress.step(done, 40, "tokens")
        shown.append(stream.getvalue())
    assert "lab cache: 2 of 40 tokens" in shown[0] and "to go" not in shown[0]
    assert "10 of 40 tokens, 30 s to go" in shown[1]  # 8 in 8 s


def test_progress_ends_an_experiment_that_is_to_end(
    watched: tuple[ShownProgress, io.StringIO, Clock, Abort],
) -> None:
    progress, _, _, abort = watched
    progress.step(1, 2, "tokens")
    abort.trip(FinishReason.INTERRUPTED)
    with pytest.raises(Aborted):
        progress.step(2, 2, "tokens")
