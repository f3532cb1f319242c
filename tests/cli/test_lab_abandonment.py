"""`nextok lab abandonment` as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]


def test_a_recorded_workload_is_replayed(ask: Ask, tmp_path: Path) -> None:
    log = tmp_path / "requests.csv"
    log.write_text("time,prompt_tokens,output_tokens\n0,10,50\n1,20,60\n3,30,70\n4,40,80\n")
    answered = ask(
        "lab", "abandonment", "-m", "toy", "--workload", log, "--abandoned", "0.5", "--slots", "2",
        "--generations", "0", "--json",
    )  # fmt: skip
    assert answered.code == 0, answered
    simulation = answered.object["simulation"]
    assert (simulation["requests"], simulation["abandoned"], simulation["slots"]) == (4, 2, 2)
    assert simulation["tokens"] == 260


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--load", "0.5", "--rate", "3"], ["--load and --rate"]),
        (["--arrivals", "recorded"], ["--arrivals recorded", "--workload"]),
        (["--abandoned", "1.5"], ["--abandoned", "from 0 to 1"]),
        (["--workload", "/nowhere/log.csv"], ["cannot read /nowhere/log.csv"]),
    ],
)
def test_a_bad_setting_is_told_before_a_model_is_loaded(
    ask: Ask, flags: list[str], words: list[str]
) -> None:
    ask("lab", "abandonment", "-m", "toy", *flags).check_failed(2, *words)
