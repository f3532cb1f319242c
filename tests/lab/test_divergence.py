"""Error accumulation end to end, on models whose every choice is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.generation.errors import UsageError
from nextok.generation.finish import FinishReason
from nextok.lab.divergence import DivergenceOptions, run, work
from nextok.lab.drawing import chart_picture
from nextok.lab.findings import Findings
from nextok.lab.progress import Silence
from nextok.lab.subject import Subject

Open = Callable[[Path | None], Subject]
PROMPTS = ("one", "two", "three")


@pytest.fixture(scope="session")
def abcd_gguf(scripted: Callable[..., Path]) -> Path:
    """Says a, b, c, d."""
    return scripted([b"abcd"], stem="abcd")


@pytest.fixture(scope="session")
def abxd_gguf(scripted: Callable[..., Path]) -> Path:
    """Says a, b, x, d. After c it begins again with a."""
    return scripted([b"abxd"], stem="abxd")


def options(**changes: Any) -> DivergenceOptions:
    return DivergenceOptions(prompts=PROMPTS, max_tokens=16, short_tokens=4, **changes)


@pytest.fixture
def planted(subject_of: Open, abcd_gguf: Path, abxd_gguf: Path) -> Findings:
    """The second model differs at index 2, and at 3 because of what is forced at 2."""
    against = subject_of(abxd_gguf)
    return run(subject_of(abcd_gguf), options(against=against), Silence())


def of_variant(findings: Findings, place: int, way: str) -> Any:
    variants: Any = findings.data["variants"]
    return variants[place][way]


@pytest.mark.parametrize("way", ["greedy", "sampled"])
def test_a_planted_difference_is_found_at_its_index(planted: Findings, way: str) -> None:
    found = of_variant(planted, 0, way)
    assert found["lengths"] == [5, 5, 5]  # a, b, c, d and the end
    assert found["first_difference"] == [2, 2, 2]
    assert (found["positions"], found["differing"]) == (15, 6)
    assert found["epsilon"] == 0.4
    assert [point[:2] for point in found["survival"]] == [[0, 1], [1, 1], [2, 1], [3, 0]]
    assert found["horizons"][0]["expected"] == pytest.approx(0.6**10, abs=1e-6)
    assert (found["short"]["texts"], found["long"]["texts"], found["long"]["same"]) == (0, 3, 0)


def test_the_divergence_is_where_the_distributions_differ(
    planted: Findings, subject_of: Open, abcd_gguf: Path
) -> None:
    """One token has all of the mass, and the other model gives it next to nothing."""
    width = (len(subject_of(abcd_gguf).tokenizer) // 64 + 1) * 64
    lead = 3 * width**0.5  # what the models' norm makes of their weight of 3
    by_position = of_variant(planted, 0, "greedy")["kl_nats_by_position"]
    assert by_position == pytest.approx([0, 0, lead, lead, 0], rel=1e-3, abs=1e-5)


def test_what_was_found_is_said_and_drawn(planted: Findings) -> None:
    assert planted.title == "Error accumulation: abxd against abcd"
    assert planted.complete
    assert len(planted.sentences) == 3
    assert "abxd greedy 40 %" in planted.sentences[0]
    assert [chart.name for chart in planted.charts] == [
        "survival-greedy",
        "survival-sampled",
        "kl",
        "lengths",
    ]
    assert chart_picture(planted.charts[0], "svg").startswith(b"<?xml")


def test_the_same_run_finds_the_same_to_the_byte(
    subject_of: Open, abcd_gguf: Path, abxd_gguf: Path
) -> None:
    texts = []
    for _ in range(2):
        against = subject_of(abxd_gguf)
        data = dict(run(subject_of(abcd_gguf), options(against=against), Silence()).data)
        assert data.pop("times")
        texts.append(json.dumps(data))
    assert texts[0] == texts[1]


def test_half_precision_of_a_model_says_what_the_model_says(
    subject_of: Open, abcd_gguf: Path
) -> None:
    findings = run(subject_of(abcd_gguf), options(quantizations=["Q8_0", "F32"]), Silence())
    assert findings.title == (
        "Error accumulation: F32 (the file) and Q8_0 against the F16 made of the F32 file"
    )
    variants: Any = findings.data["variants"]
    assert [one["variant"] for one in variants] == ["F32 (the file)", "Q8_0"]
    for place in range(2):
        assert of_variant(findings, place, "greedy")["first_difference"] == [None] * 3
        assert of_variant(findings, place, "greedy")["survival"][5][1] == 1
    assert variants[0]["bits_per_weight"] == 32
    assert 8 < variants[1]["bits_per_weight"] < 9


def test_an_abort_leaves_what_is_done(subject_of: Open, abcd_gguf: Path, abxd_gguf: Path) -> None:
    """After the reference's six texts and four of the variant's."""
    subject = subject_of(abcd_gguf)

    class Impatient:
        def step(self, done: int, total: int, what: str) -> None:
            if done == 10:
                subject.abort.trip(FinishReason.INTERRUPTED)

    findings = run(subject, options(against=subject_of(abxd_gguf)), Impatient())
    assert not findings.complete
    assert of_variant(findings, 0, "greedy")["first_difference"] == [2, 2]
    assert len(findings.sentences) == 3


def test_the_toy_has_nothing_to_quantise(subject_of: Open) -> None:
    with pytest.raises(UsageError, match="the toy has no file to quantise"):
        run(subject_of(None), options(), Silence())


def test_models_of_other_tokens_are_refused(subject_of: Open, abcd_gguf: Path) -> None:
    with pytest.raises(UsageError, match="toy cannot be held against abcd"):
        run(subject_of(abcd_gguf), options(against=subject_of(None)), Silence())


def test_the_work_is_told_before(subject_of: Open, abcd_gguf: Path) -> None:
    """Four models, two ways of choosing, three prompts, 16 tokens."""
    subject = subject_of(abcd_gguf)
    asked = work(subject, options(quantizations=["Q8_0", "Q4_0"]))
    assert asked.decode_tokens == 4 * 2 * 3 * 16
    assert asked.prefill_tokens == 8 * sum(len(subject.prompt_tokens(one)) for one in PROMPTS)
