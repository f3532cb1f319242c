"""What a comparison of models found, as JSON can hold it. Knows figures only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nextok.lab.agreement import Agreement, Group, Horizon
from nextok.lab.survival import Survival

_DIGITS = 6
"""After the point: what comes after them is noise, or the last bits of a sum."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One variant and how it follows the reference, by the way of choosing: greedy, sampled."""

    label: str
    bits: float | None
    ways: Mapping[str, Agreement]

    def data(self) -> dict[str, object]:
        """All its figures."""
        ways = {way: agreement_data(one) for way, one in self.ways.items() if one.runs}
        return {"variant": self.label, "bits_per_weight": self.bits, **ways}


def agreement_data(one: Agreement) -> dict[str, object]:
    """ε, the survival of the text, (1 − ε)^N against it, divergence, and short against long."""
    low, high = one.epsilon_interval
    departure = one.departure
    return {
        "texts": len(one.runs),
        "positions": one.positions,
        "differing": one.differing,
        "epsilon": rounded(one.epsilon),
        "epsilon_95": [rounded(low), rounded(high)],
        "epsilon_by_text": [rounded(rate) for rate in one.rates],
        "lengths": [len(run.agrees) for run in one.runs],
        "first_difference": [run.first_difference for run in one.runs],
        "survival": [_point(point) for point in one.curve],
        "horizons": [_horizon(horizon) for horizon in one.horizons],
        "departs_at_tokens": None if departure is None else departure.steps,
        "farthest_at_tokens": None if one.farthest is None else one.farthest.steps,
        "kl_nats": rounded(one.divergence),
        "kl_nats_by_position": [rounded(value) for value in one.divergence_by_position()],
        "median_margin_agreeing": _maybe(one.margins(agrees=True)),
        "median_margin_differing": _maybe(one.margins(agrees=False)),
        "first_tokens": _group(one.early(one.short_tokens)) | {"tokens": one.short_tokens},
        "short": _group(one.short),
        "long": _group(one.long),
    }


def rounded(value: float) -> float:
    """As many digits as are the same on every run."""
    return round(value, _DIGITS)


def _point(point: Survival) -> list[float]:
    """Tokens, share, the interval, and how many texts bear it."""
    shares: Iterable[float] = (point.share, point.low, point.high)
    return [point.steps, *map(rounded, shares), point.at_risk]


def _horizon(horizon: Horizon) -> dict[str, object]:
    seen = horizon.seen
    return {
        "tokens": horizon.tokens,
        "expected": rounded(horizon.expected),
        "seen": None if seen is None else rounded(seen.share),
        "seen_95": None if seen is None else [rounded(seen.low), rounded(seen.high)],
        "departs": horizon.departs,
    }


def _group(group: Group) -> dict[str, object]:
    return {"texts": group.count, "same": group.same, "share": _maybe(group.share)}


def _maybe(value: float | None) -> float | None:
    return None if value is None else rounded(value)
