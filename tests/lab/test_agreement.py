"""Rates, shares and groups of runs whose every token is known."""

from __future__ import annotations

import pytest

from nextok.lab.agreement import Agreement
from nextok.lab.forced_run import ForcedRun


def run(pattern: str, divergence: float = 0.1) -> ForcedRun:
    """One letter a token: `=` where both say the same, `x` where they differ."""
    agrees = [letter == "=" for letter in pattern]
    margins = [0.9 if one else 0.2 for one in agrees]
    return ForcedRun(agrees=agrees, divergences=[divergence] * len(agrees), margins=margins)


@pytest.fixture
def agreement() -> Agreement:
    """Two short texts, of which one is the same, and two long ones that are not."""
    runs = [run("==="), run("=x=", 0.3), run("=====x==xx"), run("======x===", 0.2)]
    return Agreement(runs, short_tokens=4)


def test_the_rate_of_derailing_counts_every_position(agreement: Agreement) -> None:
    assert (agreement.positions, agreement.differing) == (26, 5)
    assert agreement.epsilon == pytest.approx(5 / 26)


def test_its_interval_holds_it_and_is_the_same_each_time(agreement: Agreement) -> None:
    low, high = agreement.epsilon_interval
    assert 0 <= low < agreement.epsilon < high < 0.4
    assert Agreement(agreement.runs, 4).epsilon_interval == (low, high)


def test_texts_that_are_alike_leave_the_interval_of_a_share() -> None:
    """Drawn again they give the same rate each time; 24 positions do not tell it so well."""
    low, high = Agreement([run("===x====")] * 3, short_tokens=4).epsilon_interval
    assert (low, high) == pytest.approx((0.0434, 0.3100), abs=1e-4)  # Wilson's, of 3 in 24
    assert Agreement([run("=" * 24)], short_tokens=4).epsilon_interval == pytest.approx(
        (0, 0.1380), abs=1e-4
    )


def test_the_curve_counts_first_differences_alone(agreement: Agreement) -> None:
    assert [one.first_difference for one in agreement.runs] == [None, 1, 5, 6]
    shares = [point.share for point in agreement.curve]
    assert shares == pytest.approx([1, 1, 0.75, 0.75, 0.75, 0.75, 0.375, 0])


def test_horizons_hold_the_expectation_against_what_was_seen(agreement: Agreement) -> None:
    ten, hundred, thousand = agreement.horizons
    assert [one.tokens for one in (ten, hundred, thousand)] == [10, 100, 1000]
    assert ten.expected == pytest.approx((21 / 26) ** 10)
    assert ten.seen is not None and ten.seen.share == 0  # all long ones have derailed by then
    assert (hundred.seen, thousand.departs) == (None, None)  # no text is so long


def test_a_horizon_beyond_what_was_watched_is_not_judged() -> None:
    ten, hundred, _ = Agreement([run("=" * 20)], short_tokens=4).horizons
    assert ten.seen is not None and ten.seen.share == 1
    assert (hundred.seen, hundred.departs) == (None, None)


def test_short_and_long_texts_stand_apart(agreement: Agreement) -> None:
    assert (agreement.short.count, agreement.short.same) == (2, 1)
    assert (agreement.long.count, agreement.long.same) == (2, 0)
    assert agreement.early(4).share == 0.75


def test_the_divergence_is_a_mean_over_positions(agreement: Agreement) -> None:
    assert agreement.divergence == pytest.approx((3 * 0.1 + 3 * 0.3 + 10 * 0.1 + 10 * 0.2) / 26)
    by_position = agreement.divergence_by_position()
    assert by_position[0] == pytest.approx((0.1 + 0.3 + 0.1 + 0.2) / 4)
    assert by_position[9] == pytest.approx(0.15)


def test_margins_tell_ties_from_the_rest(agreement: Agreement) -> None:
    assert agreement.margins(agrees=False) == 0.2
    assert agreement.margins(agrees=True) == 0.9
    assert Agreement([run("==")], short_tokens=4).margins(agrees=False) is None


def test_clusters_last_longer_than_a_constant_rate_says() -> None:
    """All differences in a quarter of the texts: most are the same to their end."""
    agreement = Agreement([run("=" * 60)] * 30 + [run("x" * 60)] * 10, short_tokens=4)
    departure = agreement.departure
    assert departure is not None
    assert departure.low > (1 - agreement.epsilon) ** departure.steps
