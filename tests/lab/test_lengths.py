"""A study of lengths from end to end: data, sentences and charts, with what was planted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nextok.generation.abort import Aborted
from nextok.generation.errors import UsageError
from nextok.lab.findings import Findings
from nextok.lab.length_data import Answer, LengthData
from nextok.lab.length_study import Draws
from nextok.lab.lengths import LengthsOptions, run
from nextok.lab.progress import Progress, Silence

DRAWS = Draws(resamples=40, replicates=4, seed=1)
REJECTING = Draws(resamples=4, replicates=20, seed=1)
"""The fewest replicates that can reject a fit."""


def clock() -> Any:
    moments = iter(range(100))
    return lambda: float(next(moments))


def data(tokens: np.ndarray, cap: int | None = None, prompts: bool = True) -> LengthData:
    answers = tuple(
        Answer(
            tokens=int(one if cap is None else min(one, cap)),
            cut=cap is not None and bool(one >= cap),
            prompt_tokens=int(one // 2 + 5) if prompts else None,
        )
        for one in tokens
    )
    return LengthData(source="logs/a.csv", column="tokens", answers=answers)


def gamma(count: int = 200, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2, 100, count).round()


def humps() -> np.ndarray:
    generator = np.random.default_rng(3)
    return np.concatenate((generator.normal(90, 20, 180), generator.normal(410, 25, 120))).round()


def found(studied: LengthData, progress: Progress | None = None, **options: Any) -> Findings:
    chosen = LengthsOptions(**{"clock": clock(), "draws": DRAWS, **options})
    return run(studied, chosen, progress or Silence())


@pytest.fixture(scope="module")
def known() -> Findings:
    return found(data(gamma()))


def figures(findings: Findings) -> Any:
    """As JSON hands them out: nothing but what it can hold."""
    return json.loads(json.dumps(findings.data, allow_nan=False))


def test_the_keys_of_the_object(known: Findings) -> None:
    seen = figures(known)
    tokens = gamma()
    assert seen["n"] == 200
    assert seen["mean"] == pytest.approx(tokens.mean(), rel=1e-6)
    for name, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
        assert seen[name] == pytest.approx(np.percentile(tokens, percent), rel=1e-6)
    longest = np.sort(tokens)[-2:].sum() / tokens.sum()
    assert seen["top1_share"] == pytest.approx(longest, rel=1e-6)
    low, high = seen["intervals"]["mean"]
    assert low < seen["mean"] < high
    assert (seen["source"], seen["column"], seen["seed"]) == ("a.csv", "tokens", 1)
    assert seen["cost_ratio"] is None and seen["complete"]


def test_the_true_family_is_accepted_and_said(known: Findings) -> None:
    seen = figures(known)
    fits = {one["family"]: one for one in seen["fits"]}
    assert len(fits) == 5 and fits["gamma"]["accepted"]
    assert fits["gamma"]["parameters"]["shape"] == pytest.approx(2, rel=0.2)
    assert seen["fits"][0]["aic_difference"] == 0
    assert seen["verdict"] in ("gamma", "Weibull", "negative binomial")
    assert f"could come from a {seen['verdict']} distribution" in known.sentences[1]


def test_two_humps_are_none_of_these() -> None:
    findings = found(data(humps()), draws=REJECTING)
    assert figures(findings)["verdict"] == "none of these"
    assert findings.sentences[1].startswith("The lengths come from none of these: ")
    labels = {one.label for one in findings.charts[0].series}
    assert "gamma (rejected)" in labels


def test_three_sentences_with_the_figures(known: Findings) -> None:
    spread, _, use = known.sentences
    seen = figures(known)
    assert f"200 answers have {seen['mean']:.0f} tokens on average" in spread
    assert f"the longest 2 answers (1.0 %) take {100 * seen['top1_share']:.1f} % of" in spread
    assert use.startswith("A cap of 768 tokens cuts 0.50 % of the answers and saves 0.55 %")
    assert "saves 100 % of the wait" in use


def test_charts(known: Findings) -> None:
    assert [one.name for one in known.charts] == ["histogram", "qq", "ccdf", "caps", "prompts"]
    bars, *lines = known.charts[0].series
    assert (bars.kind, len(lines)) == ("bars", 5)
    assert sum(bars.y) == pytest.approx(100, abs=1)
    for chart in known.charts:
        for series in chart.series:
            assert len(series.x) == len(series.y) > 0, (chart.name, series.label)
    ccdf = known.charts[2].series[0]
    assert ccdf.y[0] == pytest.approx(1 - (gamma() <= gamma().min()).mean())


def test_without_prompts_there_is_nothing_to_draw_of_them() -> None:
    findings = found(data(gamma(100), prompts=False))
    assert [one.name for one in findings.charts] == ["histogram", "qq", "ccdf", "caps"]
    assert "without knowing its prompt" in findings.sentences[2]


def test_cut_answers_are_counted_and_noted() -> None:
    findings = found(data(gamma(), cap=250))
    seen = figures(findings)
    assert seen["cut"] == int((gamma() >= 250).sum())
    assert (seen["cap"], seen["cap_found"]) == (None, False)
    fit = next(one for one in seen["fits"] if one["family"] == "gamma")
    assert fit["parameters"]["shape"] == pytest.approx(2, rel=0.2)
    assert any("answers were cut off" in note for note in findings.charts[0].notes)


def test_a_cap_that_shows() -> None:
    tokens = np.minimum(gamma(), 250)
    seen = figures(found(data(tokens)))
    assert (seen["cap"], seen["cap_found"], seen["cut"]) == (250, True, (tokens == 250).sum())
    none = figures(found(data(tokens), cap=0))
    assert (none["cap"], none["cut"]) == (None, 0)


def test_bars_go_as_far_as_answers_were_cut() -> None:
    """Also where hardly any came so far."""
    chart = found(data(np.append(np.arange(100, 700), [1000]), cap=1000)).charts[0]
    assert chart.marks == ((1000.0, "cut here"),)
    middles = chart.series[0].x
    assert middles[-1] == pytest.approx(1000, abs=middles[1] - middles[0])


def test_another_workload() -> None:
    findings = found(data(gamma()), other=data(20 * gamma()))
    cost = figures(findings)["cost_ratio"]
    assert cost["ratio"] == pytest.approx(20)
    assert cost["interval"][0] < 20 < cost["interval"][1]
    assert "costs 20 times as much" in findings.sentences[0]


def test_the_same_to_the_byte(known: Findings) -> None:
    again = found(data(gamma()))
    texts = [
        json.dumps({key: value for key, value in one.data.items() if key != "times"})
        for one in (known, again)
    ]
    assert texts[0] == texts[1]
    assert (again.sentences, again.charts) == (known.sentences, known.charts)


def test_a_cap_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="--cap 10: there are answers of up to"):
        found(data(gamma()), cap=10)


@pytest.mark.parametrize("tokens", [[0, 1], [5, 6, 5], [1, 10_000_000]])
def test_data_that_hardly_have_a_distribution(tokens: list[int]) -> None:
    findings = found(data(np.array(tokens)))
    assert len(findings.sentences) == 3
    figures(findings)


def test_answers_that_were_all_cut_tell_no_family() -> None:
    answers = tuple(Answer(tokens, True) for tokens in (5, 9, 30))
    findings = found(LengthData(source="x", answers=answers))
    assert findings.sentences[1].startswith("Every answer was cut off")


class Ending:
    """A progress that is told to end after so many steps."""

    def __init__(self, steps: int) -> None:
        self._steps: Iterator[int] = iter(range(steps))

    def step(self, done: int, total: int, what: str) -> None:
        if next(self._steps, None) is None:
            raise Aborted


def test_fresh_answers_are_not_lost_to_an_abort() -> None:
    findings = found(data(gamma(40)), Ending(5), fresh=True)
    assert not findings.complete
    assert figures(findings)["replicates"] == 20
    with pytest.raises(Aborted):
        found(data(gamma(40)), Ending(5))


def test_few_answers_are_not_spoken_of_in_hundreds() -> None:
    spread, _, use = found(data(np.array([1.0, 2.0, 4.0]))).sentences
    assert spread == (
        "3 answers have 2.33 tokens on average (1.33 to 4), half of them at most 2 and the longest "
        "4, which is 57 % of all tokens."
    )
    assert "hundred" not in use
    _, _, use = found(data(np.array([10.0, 10.0, 40.0]))).sentences
    assert use.startswith("A cap of 12 tokens cuts 1 of the 3 answers and saves 47 % of the tokens")


def test_one_token_is_one_token() -> None:
    _, _, use = found(data(np.array([1.0, 2.0]))).sentences
    assert use.endswith("the mean of the others is off by 1 token.")


@pytest.mark.parametrize("count", [1, 5])
def test_answers_of_one_length_have_figures_and_no_fits(count: int) -> None:
    same = found(data(np.full(count, 7.0)))
    seen = figures(same)
    assert (seen["n"], seen["mean"], seen["p99"], seen["fits"]) == (count, 7, 7, [])
    assert len(same.sentences) == 3 and same.charts == ()
    assert "7 tokens." in same.sentences[0]
