"""What ignoring the reader costs, end to end on the toy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.lab.abandonment import AbandonmentOptions, run, work
from nextok.lab.arrival_log import Recorded
from nextok.lab.drawing import chart_picture
from nextok.lab.findings import Findings
from nextok.lab.progress import Silence
from nextok.lab.slots import SlotSpeed
from nextok.lab.subject import Subject
from nextok.lab.workload import Lengths

Open = Callable[[Path | None], Subject]
SPEED = SlotSpeed(prefill_tokens_per_second=1000, decode_seconds=0.05)


def found(subject: Subject, **changes: Any) -> Findings:
    options: dict[str, Any] = {
        "speed": SPEED, "requests": 500, "generations": 0, "max_tokens": 12
    } | changes  # fmt: skip
    return run(subject, AbandonmentOptions(**options), Silence())


def simulated(findings: Findings) -> Any:
    times: Any = findings.data["times"]
    return times["simulation"]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_the_abandoned_share_is_its_setting(subject_of: Open, share: float) -> None:
    data: Any = found(subject_of(None), abandoned_share=share).data["simulation"]
    assert data["abandoned"] == 500 * share
    assert data["tokens"] - data["tokens_read"] == pytest.approx(
        share * data["tokens"] / 2, rel=0.3
    )


def test_nobody_leaves_and_nothing_is_wasted(subject_of: Open) -> None:
    figures = simulated(found(subject_of(None), abandoned_share=0.0))
    assert figures["capacity_gained"] == 0
    assert figures["without_propagation"] == figures["with_propagation"]
    assert figures["without_propagation"]["wasted_seconds"] == 0


def test_propagation_frees_capacity_and_shortens_the_queue(subject_of: Open) -> None:
    figures = simulated(found(subject_of(None)))
    deaf, hearing = figures["without_propagation"], figures["with_propagation"]
    assert deaf["busy_seconds"] - hearing["busy_seconds"] == pytest.approx(
        deaf["wasted_seconds"], abs=1e-3
    )
    assert figures["capacity_gained"] == pytest.approx(
        deaf["busy_seconds"] / hearing["busy_seconds"] - 1, abs=1e-5
    )
    assert hearing["delay_p95_seconds"] < deaf["delay_p95_seconds"]
    assert figures["load"] == 0.9


def test_a_recorded_workload_is_replayed(subject_of: Open) -> None:
    recorded = Recorded([0.0, 1.0, 4.0], [Lengths(10, 2), Lengths(20, 4), Lengths(30, 6)])
    findings = found(subject_of(None), recorded=recorded, origin="a file")
    data: Any = findings.data["simulation"]
    assert (data["requests"], data["mean_output_tokens"]) == (3, 4)
    assert data["workload"] == "replayed; a file"


def test_its_lengths_alone_may_be_used(subject_of: Open) -> None:
    recorded = Recorded([0.0, 1.0], [Lengths(10, 2), Lengths(20, 2)])
    findings = found(subject_of(None), recorded=recorded, replays=False, origin="a file")
    data: Any = findings.data["simulation"]
    assert (data["requests"], data["mean_output_tokens"]) == (500, 2)
    assert data["workload"] == "Poisson; a file"


def test_real_readers_leave_and_hardly_a_token_follows(subject_of: Open, loop_gguf: Path) -> None:
    findings = found(subject_of(loop_gguf), generations=1, max_tokens=100)
    (real,) = findings.data["real"]  # type: ignore[attr-defined]
    assert real["tokens_to_the_end"] == 100
    assert 1 <= real["left_after"] < 100
    times: Any = findings.data["times"]
    (left,) = times["real"]
    assert left["exit_code"] == -13
    assert left["wasted_tokens"] <= 100 - real["left_after"]
    assert len(findings.sentences) == 3
    assert chart_picture(findings.charts[-1], "svg").startswith(b"<?xml")


def test_the_same_run_finds_the_same_to_the_byte(subject_of: Open) -> None:
    texts = []
    for _ in range(2):
        data = dict(found(subject_of(None), speed=None).data)
        assert data.pop("times")
        texts.append(json.dumps(data))
    assert texts[0] == texts[1]


def test_the_work_is_told_before(subject_of: Open) -> None:
    asked = work(subject_of(None), AbandonmentOptions(generations=4, max_tokens=10))
    assert asked.decode_tokens == 60  # four to their end, and four left half-way on average
