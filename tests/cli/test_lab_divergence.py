"""`nextok lab divergence` as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def two_models(scripted: Callable[..., Path]) -> tuple[Path, Path]:
    """They say a, b, c, d and a, b, x, d."""
    return scripted([b"abcd"], stem="abcd"), scripted([b"abxd"], stem="abxd")


def test_another_model_is_held_against_this_one(
    ask: Ask, two_models: tuple[Path, Path], tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one\ntwo\n")
    first, second = two_models
    answered = ask(
        "lab", "divergence", "-m", first, "--against", second, "--prompts", prompts, "-n", "8",
        "--json",
    )  # fmt: skip
    assert answered.code == 0, answered
    found = answered.object
    assert found["variants"][0]["greedy"]["first_difference"] == [2, 2]
    assert found["command"] == (
        f"nextok lab divergence -m {first} -t 1 -n 8 --prompts {prompts} --against {second}"
    )


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--quantize", "Q9_9"], ["no Q9_9 can be made", "Q4_0"]),
        (["--quantize", "Q4_0", "--against", "toy"], ["--against and --quantize"]),
        (["--prompts", "/nowhere/p.txt"], ["cannot read /nowhere/p.txt"]),
    ],
)
def test_a_bad_setting_is_told_before_a_model_is_loaded(
    ask: Ask, flags: list[str], words: list[str]
) -> None:
    ask("lab", "divergence", "-m", "toy", *flags).check_failed(2, *words)


def test_a_bad_line_of_prompts_is_told_by_its_number(ask: Ask, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('"one"\n{"promt": "two"}\n')
    answered = ask("lab", "divergence", "-m", "toy", "--prompts", prompts)
    answered.check_failed(2, f"{prompts}, line 2: no prompt")
