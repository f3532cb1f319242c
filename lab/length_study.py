"""All that is found out about the lengths of one workload. Computes; says and draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from nextok.lab.length_costs import Cap, caps
from nextok.lab.length_data import LengthData
from nextok.lab.length_figures import CostRatio, LengthFigures, cost_ratio, length_figures
from nextok.lab.length_fits import Fit, fits, weights
from nextok.lab.length_goodness import Goodness, goodness
from nextok.lab.length_prediction import Prediction, predictions
from nextok.lab.length_sample import OverCap, Sample, found_cap, sample_of
from nextok.lab.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How often chance is tried, and from which seed."""

    resamples: int = 1000
    """Of the bootstrap, for intervals."""
    replicates: int = 99
    """Of the data, at most, to judge one fit."""
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A fit among the others."""

    fit: Fit
    weight: float
    """Akaike's: how probable it is to be the best of them."""
    goodness: Goodness


@dataclass(frozen=True, kw_only=True)
class Study:
    """What there is to know."""

    data: LengthData
    figures: LengthFigures
    sample: Sample
    cap: int | None
    """Tokens that no answer was allowed to exceed."""
    cap_found: bool
    """Whether the data alone say so."""
    ranked: Sequence[Ranked]
    """The best by AIC first; none for answers that are all of one length."""
    caps: Sequence[Cap]
    predictions: Sequence[Prediction]
    cost: CostRatio | None

    @property
    def accepted(self) -> list[Ranked]:
        """The fits that the data could have come from, the best first."""
        return [one for one in self.ranked if one.goodness.accepted]

    @property
    def nearest(self) -> Ranked:
        """The fit whose shares are least far off."""
        return min(self.ranked, key=lambda one: one.goodness.distance)


def studied(
    data: LengthData,
    other: LengthData | None,
    cap: int | None,
    over: OverCap,
    draws: Draws,
    progress: Progress,
) -> Study:
    """Find it all out.

    cap: None looks for one in the data, 0 is none. Raises UsageError where it does not suit them,
    and what `progress` raises.
    """
    found = found_cap(data.answers) if cap is None else None
    known = found if cap is None else cap or None
    sample = sample_of(data.answers, known, over)
    progress.step(0, 1, "resamples")
    return Study(
        data=data,
        figures=length_figures(data.tokens, draws.resamples, draws.seed),
        sample=sample,
        cap=known,
        cap_found=found is not None,
        ranked=_ranked(sample, draws, progress) if data.differs else (),
        caps=caps(data.tokens),
        predictions=predictions(data.answers, draws.seed) if data.differs else (),
        cost=None
        if other is None
        else cost_ratio(data.tokens, other.tokens, other.name, draws.resamples, draws.seed),
    )


def _ranked(sample: Sample, draws: Draws, progress: Progress) -> list[Ranked]:
    found = fits(sample)
    ranked = []
    total = draws.replicates * len(found)
    for place, (fit, weight) in enumerate(zip(found, weights(found), strict=True)):
        before = partial(_step, progress, place * draws.replicates, total)
        judged = goodness(fit, sample, draws.replicates, draws.seed, before)
        ranked.append(Ranked(fit=fit, weight=weight, goodness=judged))
    return ranked


def _step(progress: Progress, done: int, total: int, tried: int) -> None:
    progress.step(done + tried, total, "draws")
