"""How well a variant follows its reference: rates, divergences and the survival of the same text.

Computes from runs in which the reference's tokens were forced. Knows no model and no picture.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from nextok.generation.timings import percentile
from nextok.lab.forced_run import ForcedRun
from nextok.lab.survival import (
    Spell,
    Survival,
    after,
    first_departure,
    geometric,
    share_interval,
    survival,
)

HORIZONS = (10, 100, 1000)
"""Tokens after which (1 − ε)^N is held against what was seen."""
_RESAMPLES = 1000
_FEWEST_AT_RISK = 8
"""Points of a curve that fewer texts bear say nothing of where it departs."""


@dataclass(frozen=True, kw_only=True)
class Horizon:
    """What (1 − ε)^N says after N tokens, and what was seen there."""

    tokens: int
    expected: float
    seen: Survival | None
    """None: hardly any text was that long and still followed."""

    @property
    def departs(self) -> bool | None:
        """Whether the expectation lies outside the interval of what was seen."""
        return None if self.seen is None else not self.seen.low <= self.expected <= self.seen.high


@dataclass(frozen=True, kw_only=True)
class Group:
    """Texts of some length, and how many of them the variant would have said as they are."""

    count: int
    same: int

    @property
    def share(self) -> float | None:
        """None of none."""
        return self.same / self.count if self.count else None


@dataclass(frozen=True)
class Agreement:
    """One variant, one way of choosing: a run for each text."""

    runs: Sequence[ForcedRun]
    short_tokens: int
    """Texts of at most so many tokens are short."""

    @property
    def positions(self) -> int:
        """Tokens at which the variant was asked."""
        return sum(len(run.agrees) for run in self.runs)

    @property
    def differing(self) -> int:
        """Those at which it would have said another."""
        return sum(not agrees for run in self.runs for agrees in run.agrees)

    @property
    def epsilon(self) -> float:
        """The measured rate of derailing: the share of positions that differ."""
        return self.differing / self.positions if self.positions else 0.0

    @cached_property
    def epsilon_interval(self) -> tuple[float, float]:
        """95 %, by bootstrap over texts: positions of one text are not independent.

        Never narrower than if they were: a few texts that are alike say nothing of that.
        """
        draw = random.Random(1)
        counts = [(len(run.agrees), sum(not one for one in run.agrees)) for run in self.runs]
        rates = []
        for _ in range(_RESAMPLES if counts else 0):
            drawn = draw.choices(counts, k=len(counts))
            rates.append(sum(bad for _, bad in drawn) / max(1, sum(all_ for all_, _ in drawn)))
        rates.sort()
        if not rates:
            return 0.0, 0.0
        low, high = share_interval(self.differing, self.positions)
        return min(low, percentile(rates, 2.5)), max(high, percentile(rates, 97.5))

    @cached_property
    def curve(self) -> list[Survival]:
        """The share of texts that are still the reference's, by the number of tokens."""
        spells = (Spell(steps=len(run.agrees), ended=run.first_difference) for run in self.runs)
        return survival(list(spells))

    @cached_property
    def horizons(self) -> list[Horizon]:
        """At each of HORIZONS. Nothing is seen beyond the longest text, even where none is left."""
        longest = max((len(run.agrees) for run in self.runs), default=0)
        return [
            Horizon(
                tokens=tokens,
                expected=geometric(self.epsilon, tokens),
                seen=after(self.curve, tokens) if tokens <= longest else None,
            )
            for tokens in HORIZONS
        ]

    @property
    def departure(self) -> Survival | None:
        """From where on (1 − ε)^N is not what is seen; None: nowhere that enough texts bear."""
        return first_departure(self._borne, self.epsilon)

    @property
    def farthest(self) -> Survival | None:
        """Where (1 − ε)^N and what is seen are farthest apart; None: nowhere that enough texts
        bear."""
        return max(
            (point for point in self._borne if point.steps),
            key=lambda point: abs(point.share - geometric(self.epsilon, point.steps)),
            default=None,
        )

    @property
    def _borne(self) -> list[Survival]:
        return [point for point in self.curve if point.at_risk >= _FEWEST_AT_RISK]

    @property
    def divergence(self) -> float:
        """The mean over all positions, in nats."""
        values = [one for run in self.runs for one in run.divergences]
        return statistics.fmean(values) if values else 0.0

    def divergence_by_position(self) -> list[float]:
        """The mean over the texts that reach a position."""
        longest = max((len(run.divergences) for run in self.runs), default=0)
        return [
            statistics.fmean(
                run.divergences[place] for run in self.runs if place < len(run.divergences)
            )
            for place in range(longest)
        ]

    def margins(self, *, agrees: bool) -> float | None:
        """The reference's median margin where the variant agrees, or where it does not."""
        found = [
            margin
            for run in self.runs
            for same, margin in zip(run.agrees, run.margins, strict=True)
            if same is agrees
        ]
        return statistics.median(found) if found else None

    def early(self, tokens: int) -> Group:
        """All texts, but only so many first tokens of each looked at."""
        return _group(run.agrees[:tokens] for run in self.runs)

    @property
    def short(self) -> Group:
        """Texts of at most `short_tokens`."""
        return _group(run.agrees for run in self.runs if len(run.agrees) <= self.short_tokens)

    @property
    def long(self) -> Group:
        """The others."""
        return _group(run.agrees for run in self.runs if len(run.agrees) > self.short_tokens)

    @property
    def rates(self) -> list[float]:
        """The share of differing positions of each text."""
        return [1 - sum(run.agrees) / len(run.agrees) for run in self.runs if run.agrees]


def _group(texts: Iterable[Sequence[bool]]) -> Group:
    found = [all(text) for text in texts]
    return Group(count=len(found), same=sum(found))
