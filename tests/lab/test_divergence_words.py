"""Sentences that say no more than the texts bear."""

from __future__ import annotations

import math

from nextok.lab.agreement import Agreement
from nextok.lab.divergence_charts import divergence_charts
from nextok.lab.divergence_data import Compared
from nextok.lab.divergence_words import divergence_sentences
from nextok.lab.forced_run import ForcedRun
from nextok.lab.variants import Comparison, Variant


def run(pattern: str) -> ForcedRun:
    """One letter a token: `=` where both say the same, `x` where they differ."""
    agrees = [letter == "=" for letter in pattern]
    return ForcedRun(
        agrees=agrees, divergences=[0.1] * len(agrees), margins=[0.9] * len(agrees)
    )  # fmt: skip


def compared(*patterns: str, short: int = 4) -> Compared:
    agreement = Agreement([run(one) for one in patterns], short_tokens=short)
    return Compared(label="Q4_1 (the file)", bits=4.5, ways={"greedy": agreement})


def sentences(*patterns: str, short: int = 4) -> tuple[str, ...]:
    return divergence_sentences([compared(*patterns, short=short)], "F16")


def test_few_texts_name_no_place_where_they_part_from_the_model() -> None:
    texts = ["=" * 12] * 3 + ["=" * 9 + "xxx"]
    _, lasting, _ = sentences(*texts)
    assert lasting == (
        "75 % of the greedy texts of Q4_1 (the file) are still the same after 10 tokens where "
        "(1 − ε)^N says 52 %; 4 texts are too few to tell where that is wrong."
    )
    assert compared(*texts).ways["greedy"].farthest is None


def test_many_texts_name_the_place_where_they_are_farthest_apart() -> None:
    """Never the beginning, where both are 100 %."""
    texts = ["=" * 12] * 11 + ["=" * 9 + "x=="]
    farthest = compared(*texts).ways["greedy"].farthest
    assert farthest is not None and farthest.steps == 9
    _, lasting, _ = sentences(*texts)
    assert "farthest apart they are after 9 tokens (100 %, 94 %), and 12 texts do not" in lasting


def test_without_long_texts_nothing_is_said_of_length() -> None:
    _, _, hidden = sentences("====", "====", "=x==", "x===", short=32)
    assert hidden == (
        "With Q4_1 (the file), 2 of 4 texts are the reference's token for token, and none is "
        "longer than 32 tokens: nothing can be said of what length hides."
    )


def test_short_texts_are_held_against_long_ones() -> None:
    _, _, hidden = sentences("====", "====", "=====x", "x=====")
    assert "2 of 2 texts of at most 4 tokens" in hidden and "0 of 2 longer ones" in hidden
    assert hidden.endswith("short texts hide it.")


def test_a_group_without_texts_is_no_series() -> None:
    comparison = Comparison(
        reference=Variant(label="F16", path=None), variants=[Variant(label="Q4_1", path=None)],
        file_type="F16",
    )  # fmt: skip
    *_, lengths = divergence_charts([compared("====", "=x==")], comparison, "how")
    assert [one.label for one in lengths.series] == [
        "texts of at most 4 tokens",
        "the first 4 tokens of all",
    ]
    assert all(math.isfinite(value) for one in lengths.series for value in one.y)
