"""The loop taken apart: on a model that says one of twelve letters, as likely as is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import chi2, chisquare

from nextok.generation.events import Step
from nextok.generation.finish import FinishReason
from nextok.generation.loop import Job, plain_steps
from nextok.lab.findings import Findings
from nextok.lab.loop import LoopOptions, run, work
from nextok.lab.numbers import power_of_ten
from nextok.lab.progress import Silence
from nextok.lab.sampler_agreement import chance
from nextok.lab.sampling_steps import Position
from nextok.lab.subject import Subject

WEIGHTS = (30, 20, 12, 10, 8, 6, 5, 4, 2, 1.5, 1, 0.5)
"""Of the letters from A on, in percent."""
CHOICES = {chr(ord("A") + n): 18 + math.log(weight) for n, weight in enumerate(WEIGHTS)}
SubjectOf = Callable[[Path | None], Subject]


@pytest.fixture
def subject(subject_of: SubjectOf, scripted: Callable[..., Path]) -> Subject:
    """One of twelve letters, after all steps of six, and then the end."""
    opened = subject_of(scripted([], choices=CHOICES, stem="choices"))
    sampling = opened.sampling._replace(top_k=9, top_p=0.9, min_p=0.2, temperature=1.0)
    return replace(opened, sampling=sampling)


def found_on(subject: Subject, **options: object) -> tuple[Findings, list[Position]]:
    heard: list[Position] = []
    chosen = replace(LoopOptions(tokens=6, draws=500), **options)  # type: ignore[arg-type]
    return run(subject, chosen, Silence(), heard.append), heard


def test_the_position_has_the_known_figures(subject: Subject) -> None:
    _, (letter, end) = found_on(subject)
    place = "ABCDEFGHIJKL".index(letter.text)
    entropy = -sum(weight / 100 * math.log2(weight / 100) for weight in WEIGHTS)
    assert letter.probability == pytest.approx(WEIGHTS[place] / 100, rel=1e-3)
    assert letter.drawn_probability == pytest.approx(WEIGHTS[place] / 86, rel=1e-3)
    assert letter.nucleus_size == 7  # A to G are 91 of 100, A to F 86
    assert letter.entropy_bits == pytest.approx(entropy, rel=1e-3)
    # A temperature of 1 is no step.
    assert [step.name for step in letter.steps] == ["model", "top-k", "top-p", "min-p"]
    assert [step.candidates for step in letter.steps[1:]] == [9, 7, 6]
    assert (end.text, end.nucleus_size) == ("</s>", 1)
    assert (end.probability, end.drawn_probability) == pytest.approx((1.0, 1.0))
    assert (letter.index, end.index) == (0, 1)


def test_each_step_says_what_it_removed(subject: Subject) -> None:
    _, heard = found_on(subject)
    model, top_k, top_p, min_p = heard[0].steps
    assert (model.removed, model.likeliest_removed) == (0, None)
    assert top_k.removed == model.candidates - 9
    assert top_k.removed_mass == pytest.approx(0.03, rel=1e-2)
    assert top_p.removed_mass == pytest.approx(6 / 97, rel=1e-3)
    assert min_p.removed_mass == pytest.approx(5 / 91, rel=1e-3)
    gone = [step.likeliest_removed for step in (top_k, top_p, min_p)]
    assert [one.text for one in gone if one is not None] == ["J", "H", "G"]
    assert [one.text for one in min_p.top] == list("ABCDEF")


def test_the_running_product_is_the_sum_of_logarithms(subject: Subject) -> None:
    found, heard = found_on(subject)
    total = 0.0
    for one, product in zip(heard, found.data["log10_p"], strict=True):  # type: ignore[call-overload]
        total += math.log10(one.probability)
        assert product == pytest.approx(total, rel=1e-5)


def test_the_tokens_are_those_of_the_loop_with_the_same_seed(subject: Subject) -> None:
    _, heard = found_on(subject)
    prompt = subject.prompt_tokens(LoopOptions().prompt)
    with subject.open(len(prompt) + 6) as model:
        sampler = subject.sampler(prompt)
        job = Job(
            model=model, cache=model.new_cache(), sampler=sampler, prompt=prompt,
            is_end=subject.tokenizer.is_end, clock=subject.clock, max_tokens=6,
        )  # fmt: skip
        said = [event.id for event in plain_steps(job) if isinstance(event, Step)]
        sampler.close()
    assert [one.token for one in heard[:-1]] == said and len(said) == 1
    assert subject.tokenizer.is_end(heard[-1].token)


def test_the_two_samplers_agree(subject: Subject) -> None:
    found, _ = found_on(subject, draws=3000)
    agreed = found.data["agreement"]
    assert isinstance(agreed, dict)
    assert agreed["same_candidates"] and agreed["largest_difference"] < 1e-6
    assert agreed["probabilities"] == pytest.approx([one / 91 for one in WEIGHTS[:7]], rel=1e-3)
    for drawn in ("written_draws", "chain_draws"):
        assert sum(agreed[drawn]) == 3000
        assert chisquare(agreed[drawn], [3000 * one / 91 for one in WEIGHTS[:7]]).pvalue > 1e-3
    assert "keep the same 7 candidates" in found.sentences[2]
    assert "3,000 draws of each fall as they must" in found.sentences[2]


def test_numbers_have_one_form_in_sentences_and_notes(subject: Subject) -> None:
    """A space before the sign, and powers of ten that are raised."""
    found, _ = found_on(subject)
    notes = [note for chart in found.charts for note in chart.notes]
    said = " ".join((*found.sentences, *notes))
    assert " %" in said and "× 10⁻" in said
    assert re.search(r"\d%|\de[-+]?\d|\^", said) is None


def test_the_same_command_finds_the_same(subject: Subject) -> None:
    first, _ = found_on(subject)
    again, _ = found_on(subject)
    assert (first.data, first.sentences) == (again.data, again.sentences)
    assert first.complete and len(first.sentences) == 3


def test_positions_are_chosen_or_asked_for(subject: Subject) -> None:
    asked, _ = found_on(subject, at=(1,))
    assert [one["index"] for one in asked.data["closer"]] == [1]  # type: ignore[attr-defined]
    assert [one.name for one in asked.charts if one.name.startswith("token")] == ["token-1"]
    chosen, _ = found_on(subject)
    assert [one.name for one in chosen.charts if one.name.startswith("token")] == [
        "token-0", "token-1",
    ]  # fmt: skip


def test_a_greedy_generation_is_certain(subject: Subject) -> None:
    greedy = replace(subject, sampling=subject.sampling._replace(temperature=0.0))
    found, heard = found_on(greedy)
    assert [one.text for one in heard] == ["A", "</s>"]
    assert {one.drawn_probability for one in heard} == {1.0}
    assert found.data["log10_p_drawn"] == [0.0, 0.0]
    assert found.complete


def test_what_was_done_when_the_end_came_is_told(subject: Subject) -> None:
    def listen(one: Position) -> None:
        if one.index == 0:
            subject.abort.trip(FinishReason.INTERRUPTED)

    found = run(subject, LoopOptions(tokens=6), Silence(), listen)
    assert not found.complete
    assert len(found.data["tokens"]) == 1  # type: ignore[arg-type]
    assert found.data["agreement"] is None
    assert "agreement" not in {chart.name for chart in found.charts}


def test_the_toy_is_taken_apart_without_an_engine(subject_of: SubjectOf) -> None:
    found, heard = found_on(subject_of(None))
    assert [step.name for step in heard[0].steps] == ["model", "temperature", "top-p"]
    assert found.complete


def test_the_work_is_the_generation_and_one_more_reading() -> None:
    assert work(10, LoopOptions(tokens=32)).prefill_tokens == 2 * 10 + 32


def test_chance_is_the_chi_square_tests() -> None:
    shares, counts = [0.5, 0.3, 0.2], [460, 330, 210]
    statistic = sum((n - 1000 * p) ** 2 / (1000 * p) for p, n in zip(shares, counts, strict=True))
    assert chance(shares, counts) == pytest.approx(chi2.sf(statistic, 2), abs=0.01)
    assert chance(shares, [500, 300, 200]) > 0.95
    assert chance([1.0], [50]) == 1.0
    assert chance([0.5, 0.5], [600, 400]) < 1e-6


def test_cells_too_small_for_the_test_are_put_together() -> None:
    shares = [0.984, 0.004, 0.004, 0.004, 0.004]
    assert chance(shares, [980, 0, 0, 0, 20]) == pytest.approx(chance([0.984, 0.016], [980, 20]))


@pytest.mark.parametrize(
    ("exponent", "text"),
    [(-2.0, "1.0 × 10⁻²"), (-1.7, "2.0 × 10⁻²"), (-400.3, "5.0 × 10⁻⁴⁰¹"),
     (-0.0001, "1.0 × 10⁰")],
)  # fmt: skip
def test_a_probability_too_small_for_a_float(exponent: float, text: str) -> None:
    assert power_of_ten(exponent) == text
