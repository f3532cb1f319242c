"""The output-length distribution: how long answers are, which distribution that is, what it costs.

From a log, from nextok's own journal, or from answers that a model gives now. Takes lengths
that are read already; knows no files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nextok.backends.shown_text import shown
from nextok.generation.abort import Aborted
from nextok.lab.bootstrap import CONFIDENCE, Interval
from nextok.lab.findings import COMPLETE, TIMES, Findings
from nextok.lab.length_charts import length_charts
from nextok.lab.length_costs import Cap
from nextok.lab.length_data import LengthData
from nextok.lab.length_figures import CostRatio
from nextok.lab.length_goodness import REJECTED
from nextok.lab.length_prediction import Prediction
from nextok.lab.length_sample import OverCap
from nextok.lab.length_study import Draws, Ranked, Study, studied
from nextok.lab.length_words import length_sentences, verdict
from nextok.lab.progress import Progress, Silence

_HURRIED = Draws(resamples=200, replicates=20)
"""What is found out in a second when a run is cut short."""


@dataclass(frozen=True, kw_only=True)
class LengthsOptions:
    """What to study, and how closely."""

    clock: Callable[[], float]
    model: str = ""
    """What a person calls the model whose answers they are; empty for those of a log."""
    settings: str = ""
    """How it was run, in a line that begins with its name."""
    fresh: bool = False
    """Whether the answers were given for this: they would be lost if it said nothing."""
    complete: bool = True
    """Whether all answers are there that were to be."""
    other: LengthData | None = None
    """Another workload, to be compared in cost."""
    cap: int | None = None
    """Tokens that no answer was allowed to exceed; None looks for one in the data, 0 is none."""
    over: OverCap = OverCap.CUT
    draws: Draws = Draws()


def run(data: LengthData, options: LengthsOptions, progress: Progress) -> Findings:
    """Study the lengths.

    UsageError for a cap that does not suit them. Aborted by `progress`, unless the answers are
    fresh: then it makes do with few draws.
    """
    began = options.clock()
    try:
        return _found(data, options, began, progress)
    except Aborted:
        if not options.fresh:
            raise
    hurried = replace(_HURRIED, seed=options.draws.seed)
    return _found(data, replace(options, draws=hurried, complete=False), began, Silence())


def _found(data: LengthData, options: LengthsOptions, began: float, progress: Progress) -> Findings:
    study = studied(data, options.other, options.cap, options.over, options.draws, progress)
    column = f", column {shown(data.column, 40)}" if data.column else ""
    settings = options.settings or options.model
    by = f" · {settings}" if settings else ""
    source = f"{study.figures.count:,} answers: {data.name}{column}{by}"
    return Findings(
        experiment="lengths",
        title=f"How long answers are: {data.name}",
        model=options.model,
        data={
            COMPLETE: options.complete,
            **_data(study, options.draws),
            TIMES: {"study_seconds": round(options.clock() - began, 3)},
        },
        sentences=length_sentences(study),
        charts=length_charts(study, source),
    )


def _data(study: Study, draws: Draws) -> Mapping[str, object]:
    seen, data, sample = study.figures, study.data, study.sample
    return {
        "source": data.name,
        "column": data.column,
        "n": seen.count,
        "failed": data.failed,
        "mean": _rounded(seen.mean),
        "p50": _rounded(seen.p50),
        "p95": _rounded(seen.p95),
        "p99": _rounded(seen.p99),
        "max": seen.max,
        "top1_share": _rounded(seen.top1_share),
        "top1_answers": seen.top1_count,
        "confidence": CONFIDENCE,
        "intervals": {name: _ends(one) for name, one in seen.intervals.items()},
        "cap": study.cap,
        "cap_found": study.cap_found,
        "cut": int(sample.cut.sum()),
        "missing_over": sample.missing_over,
        "fits": [_fit(one, study.ranked[0]) for one in study.ranked],
        "rejected_below": REJECTED,
        "verdict": verdict(study),
        "cost_ratio": None if study.cost is None else _cost(study.cost),
        "caps": [_cap(one) for one in study.caps],
        "predictions": [_prediction(one) for one in study.predictions],
        "seed": draws.seed,
        "resamples": draws.resamples,
        "replicates": draws.replicates,
    }


def _fit(one: Ranked, best: Ranked) -> Mapping[str, object]:
    return {
        "family": one.fit.family.name,
        "parameters": {name: _rounded(value) for name, value in one.fit.parameters.items()},
        "log_likelihood": _rounded(one.fit.log_likelihood),
        "aic": _rounded(one.fit.aic),
        "aic_difference": round(one.fit.aic - best.fit.aic, 2),
        "weight": _rounded(one.weight),
        "distance": _rounded(one.goodness.distance),
        "p_value": _rounded(one.goodness.p_value),
        "draws": one.goodness.draws,
        "accepted": one.goodness.accepted,
    }


def _cost(one: CostRatio) -> Mapping[str, object]:
    return {
        "other": one.source,
        "other_mean": _rounded(one.mean),
        "ratio": _rounded(one.ratio),
        "interval": _ends(one.interval),
    }


def _cap(one: Cap) -> Mapping[str, object]:
    return {
        "tokens": one.tokens,
        "saved_share": _rounded(one.saved_share),
        "cut": one.cut,
        "cut_share": _rounded(one.cut_share),
    }


def _prediction(one: Prediction) -> Mapping[str, object]:
    rank = one.rank_correlation
    return {
        "name": one.name,
        "needs_prompt": one.needs_prompt,
        "mean_absolute_error": _rounded(one.mean_absolute_error),
        "rank_correlation": None if rank is None else _rounded(rank),
        "scheduling_gain": _rounded(one.scheduling_gain),
    }


def _ends(interval: Interval) -> list[float]:
    return [_rounded(end) for end in interval]


def _rounded(value: float) -> float:
    """Seven digits: what is behind them differs from one machine to the next."""
    return float(f"{value:.7g}")
