"""One form of numbers."""

from __future__ import annotations

import pytest

from nextok.lab.numbers import counted, magnitude, number, percent, power_of_ten


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"), (1, "1"), (0.6757407, "0.676"), (12.35, "12.3"), (999.4, "999"),
        (1234.5, "1,234"), (2333334, "2.33 × 10⁶"), (3.6e-13, "3.60 × 10⁻¹³"),
        (-2e-7, "−2.00 × 10⁻⁷"), (9.9999e-6, "1.00 × 10⁻⁵"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits_that_count(value: float, said: str) -> None:
    assert number(value) == said


def test_powers_of_ten_are_raised() -> None:
    assert power_of_ten(-42.0 + 0.4914) == "3.1 × 10⁻⁴²"
    assert power_of_ten(-0.0000001) == "1.0 × 10⁰"
    assert (magnitude(1e-7), magnitude(2.6e-8), magnitude(0)) == ("10⁻⁷", "3 × 10⁻⁸", "0")


def test_shares_and_counts() -> None:
    assert [percent(one) for one in (0.0034, 0.021, 0.31, 1)] == [
        "0.34 %",
        "2.1 %",
        "31 %",
        "100 %",
    ]
    assert (counted(1, "token"), counted(1200, "token")) == ("1 token", "1,200 tokens")
