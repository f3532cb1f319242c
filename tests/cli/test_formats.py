"""`--json`, `--jsonl`, `--trace` and `--stats`: their shapes, and what the figures mean."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.report import Outcome as Ended
from nextok.cli.report import RunFacts, as_json, two_lines
from nextok.generation.events import Finish
from nextok.generation.finish import FinishReason
from nextok.generation.sampling import Sampling
from nextok.generation.timings import Stopwatch

Ask = Callable[..., Any]
Build = Callable[..., Path]

REPORT = {
    "model", "prompt_tokens", "cached_tokens", "completion_tokens", "text", "finish_reason",
    "stop", "seed", "sampling", "ctx", "threads", "exact", "timings",
}  # fmt: skip
TIMINGS = {
    "start_s", "load_s", "queue_s", "prefill_s", "first_sample_s", "ttft_s", "first_byte_s",
    "itl_ms", "decode_s", "decode_tps", "ending_s", "rendering_s", "total_s",
}  # fmt: skip


def test_the_json_object(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--json", "hi")
    assert (answered.code, answered.err, answered.out.count(b"\n")) == (0, "", 1)
    report = answered.object
    assert set(report) == REPORT
    assert report["model"] == "emoji"
    counts = ("prompt_tokens", "cached_tokens", "completion_tokens", "ctx", "threads")
    assert [report[name] for name in counts] == [6, 0, 6, 4096, 1]
    assert (report["text"], report["finish_reason"]) == ("Hi \N{GRINNING FACE} bye", "eos")
    assert report["stop"] is None
    assert (report["sampling"]["temperature"], report["sampling"]["top_k"]) == (0.8, 40)
    timings = report["timings"]
    assert set(timings) == TIMINGS
    assert set(timings["itl_ms"]) == {"mean", "p50", "p95", "p99", "max"}
    assert 0 <= timings["prefill_s"] <= timings["ttft_s"] <= timings["total_s"]
    assert timings["load_s"] + timings["ttft_s"] <= timings["first_byte_s"]
    parts = ("queue_s", "prefill_s", "first_sample_s", "ending_s", "rendering_s")
    gaps = timings["itl_ms"]["mean"] / 1000 * (report["completion_tokens"] - 1)
    assert sum(timings[part] for part in parts) + gaps == pytest.approx(
        timings["total_s"], abs=0.001
    )


def test_the_lines_of_jsonl_and_of_a_trace(ask: Ask, emoji_gguf: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    answered = ask("-m", emoji_gguf, "--jsonl", "--trace", trace, "--seed", "7", "hi")
    assert (answered.code, answered.err) == (0, "")
    lines = answered.lines
    kinds = [line["type"] for line in lines]
    assert kinds == ["start", "prefill", "prefill", *["token"] * 6, "end"]
    assert set(lines[0]) == {
        "type", "model", "prompt_tokens", "seed", "sampling", "ctx", "threads", "exact",
    }  # fmt: skip
    assert (lines[0]["seed"], lines[0]["prompt_tokens"]) == (7, 6)
    assert [line for line in lines if line["type"] == "prefill"] == [
        {"type": "prefill", "done": 0, "total": 6, "cached": 0},
        {"type": "prefill", "done": 6, "total": 6, "cached": 0},
    ]
    tokens = [line for line in lines if line["type"] == "token"]
    assert {frozenset(token) for token in tokens} == {
        frozenset({"type", "i", "id", "text", "t_ms", "gap_ms", "drafted"})
    }
    assert [token["i"] for token in tokens] == list(range(6))
    assert "".join(token["text"] for token in tokens) == "Hi \N{GRINNING FACE} bye"
    assert [token["text"] for token in tokens[1:5]] == ["", "", "", "\N{GRINNING FACE}"]
    assert (tokens[0]["gap_ms"], tokens[0]["drafted"]) == (None, False)
    times = [token["t_ms"] for token in tokens]
    assert times == sorted(times)
    assert set(lines[-1]) == REPORT | {"type"}
    written = [json.loads(line) for line in trace.read_text().splitlines()]
    for line in (written[-1], lines[-1]):
        del line["timings"]["first_byte_s"]
    assert written == lines


def test_a_trace_beside_plain_text(ask: Ask, emoji_gguf: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    answered = ask("-m", emoji_gguf, "--trace", trace, "hi")
    assert answered.out.decode() == "Hi \N{GRINNING FACE} bye\n"
    assert json.loads(trace.read_text().splitlines()[-1])["finish_reason"] == "eos"


def test_one_token_has_no_rate(ask: Ask, emoji_gguf: Path) -> None:
    timings = ask("-m", emoji_gguf, "-n", "1", "--json", "hi").object["timings"]
    assert (timings["itl_ms"], timings["decode_tps"]) == (None, None)
    assert timings["ttft_s"] > 0


def test_no_token_has_no_first(ask: Ask, emoji_gguf: Path) -> None:
    timings = ask("-m", emoji_gguf, "-n", "0", "--json", "hi").object["timings"]
    assert (timings["itl_ms"], timings["decode_tps"], timings["ttft_s"]) == (None, None, None)


def test_stats_are_two_lines_on_standard_error(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--stats", "--seed", "5", "-r", "bye", "hi")
    assert answered.out.decode() == "Hi \N{GRINNING FACE} \n"
    counts, times = answered.err.splitlines()
    assert counts == "emoji · 6 prompt tokens (0 cached) · 6 tokens · stop 'bye' · seed 5"
    assert re.fullmatch(
        r"load [\d.]+ s · prefill [\d.]+ s · TTFT [\d.]+ s · ITL p50 [\d.]+ p95 [\d.]+ "
        r"p99 [\d.]+ max [\d.]+ ms · [\d.]+ tokens/s · 1 thread",
        times,
    )


def test_a_drawn_seed_is_told(ask: Ask, emoji_gguf: Path) -> None:
    first, second = (ask("-m", emoji_gguf, "-n", "1", "--json", "hi").object for _ in range(2))
    assert 0 <= first["seed"] < 2**32 - 1
    assert first["seed"] != second["seed"]


def test_a_failure_before_the_first_token_is_an_object_too(ask: Ask, loop_gguf: Path) -> None:
    missing = ask("-m", "none.gguf", "--json", "hi")
    assert missing.code == 1
    assert set(missing.object) == {"error", "code"}
    assert missing.object["code"] == 1
    missing.check_line("error", missing.object["error"])
    small = ask("-m", loop_gguf, "-c", "5", "--jsonl", "hi")
    assert small.code == 3
    assert [line["type"] for line in small.lines] == ["start", "error"]
    assert small.lines[-1]["code"] == 3
    empty = ask("-m", loop_gguf, "--json")
    assert (empty.code, empty.object["code"]) == (2, 2)


def test_json_and_jsonl_exclude_each_other(ask: Ask) -> None:
    answered = ask("-m", "toy", "--json", "--jsonl", "hi")
    assert (answered.code, answered.object["code"]) == (2, 2)
    answered.check_line("error", "--json", "--jsonl")


def test_what_the_terminal_would_obey_is_escaped_in_json(ask: Ask, esc_gguf: Path) -> None:
    answered = ask("-m", esc_gguf, "--json", "hi")
    assert answered.object["text"] == "a\x1b[31m red\x07\u202eend"
    assert b"\x1b" not in answered.out
    assert answered.out.isascii()


@pytest.fixture
def facts() -> RunFacts:
    return RunFacts(
        model="m",
        prompt_tokens=3,
        context_size=10,
        threads=2,
        sampling=Sampling(seed=1),
        exact=True,
        load_seconds=4.0,
    )


def ended(*token_times: float, origin: float = 10.0, now: float = 20.0) -> Ended:
    """Tokens sampled at these times, after a load that ended at `origin`."""
    watch = Stopwatch(origin)
    watch.prefill(origin + 0.25, done=False)
    watch.prefill(origin + 0.75, done=True)
    for last, at in zip((origin, *token_times), token_times, strict=False):
        watch.token(at, at - last)
    watch.rendered(0.5)
    finish = Finish(
        reason=FinishReason.LENGTH,
        text="",
        stop=None,
        error=None,
        prompt_tokens=3,
        cached_tokens=0,
        completion_tokens=len(token_times),
        timings=watch.timings(now),
    )
    return Ended(finish=finish, text="abc", reasoning=None, first_byte_seconds=15.5)


def test_load_prefill_and_decode_are_never_mixed(facts: RunFacts) -> None:
    report = as_json(facts, ended(11.0, 11.25, 11.75, 12.0))
    assert report["timings"] == {
        "start_s": None,
        "load_s": 4.0,
        "queue_s": 0.25,
        "prefill_s": 0.5,
        "first_sample_s": 0.25,
        "ttft_s": 1.0,
        "first_byte_s": 15.5,
        "itl_ms": {"mean": 333.333, "p50": 250.0, "p95": 475.0, "p99": 495.0, "max": 500.0},
        "decode_s": 1.0,
        "decode_tps": 3.0,
        "ending_s": 7.5,
        "rendering_s": 0.5,
        "total_s": 10.0,
    }


def test_the_parts_are_the_time_of_the_process(ask: Ask, emoji_gguf: Path) -> None:
    told = ask("-m", emoji_gguf, "--json", "hi").object["timings"]
    since_load = told["queue_s"] + told["prefill_s"] + told["first_sample_s"] + told["decode_s"]
    since_load += told["ending_s"] + told["rendering_s"]
    assert since_load == pytest.approx(told["total_s"], abs=1e-3)
    # The object is written once all is over.
    whole = told["start_s"] + told["load_s"] + told["total_s"]
    assert 0 < told["start_s"] < whole <= told["first_byte_s"] + 1e-3


def test_the_lines_for_a_person_leave_out_what_is_not_defined(facts: RunFacts) -> None:
    counts, times = two_lines(facts, ended(11.0))
    assert counts == "m · 3 prompt tokens (0 cached) · 1 token · length · seed 1"
    assert times == "load 4.00 s · prefill 0.50 s · TTFT 1.000 s · 2 threads"
    assert two_lines(facts, ended())[1] == "load 4.00 s · prefill 0.50 s · 2 threads"
