"""Moments in the past, as the command line writes them."""

from __future__ import annotations

from datetime import datetime

import pytest

from nextok.cli.settings import Since
from nextok.cli.since_type import Moment, Rest


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("90m", 5400), ("12h", 43200), ("7d", 604800), ("1.5d", 129600), ("2w", 1209600),
     ("1y", 31557600), ("0d", 0)],
)  # fmt: skip
def test_an_age_counts_from_now(text: str, seconds: float) -> None:
    assert Moment().parse(text) == Since(ago_seconds=seconds)
    assert Since(ago_seconds=seconds).moment(1e9) == 1e9 - seconds


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T12:30", "2026-01-31 12:30:05"])
def test_a_date_is_local_time(text: str) -> None:
    moment = datetime.fromisoformat(text).timestamp()
    assert Moment().parse(text) == Since(at=moment)
    assert Since(at=moment).moment(1e9) == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "7x", "-7d", "7D", "d", "2026-13-01", "2026-1-1", "20260101"]
)
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError):
        Moment().parse(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("50MiB", 50 << 20), ("50M", 50 << 20), ("1GB", 1 << 30), ("10k", 10240), ("0B", 0),
     ("50m", Since(ago_seconds=3000.0)), ("30d", Since(ago_seconds=30 * 86400.0))],
)  # fmt: skip
def test_a_rest_may_be_a_size(text: str, value: object) -> None:
    assert Rest().parse(text) == value


def test_all_forms_are_told() -> None:
    for form in ("s, m, h, d, w or y", "2026-01-31", "2026-01-31T18:30"):
        assert form in Moment.expected
    assert "50MiB" in Rest.expected


@pytest.mark.parametrize("text", ["", "all", "10", "5x", "B", "-1M"])
def test_what_is_no_rest(text: str) -> None:
    with pytest.raises(ValueError):
        Rest().parse(text)
