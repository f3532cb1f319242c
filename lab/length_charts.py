"""The pictures of lengths, as data: how they are spread, how fits hold, and what a cap saves.

Knows figures only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from nextok.lab.chart import Chart, Series
from nextok.lab.length_costs import capped
from nextok.lab.length_goodness import seen_below
from nextok.lab.length_histogram import CURVE, SEEN, histogram, label
from nextok.lab.length_prediction import by_prompt
from nextok.lab.length_sample import Floats
from nextok.lab.length_study import Study

_QUANTILES = 99
_FAR_SHARES = (0.995, 0.998, 0.999, 0.9995)
"""Of the quantiles that tell a tail, where there are answers enough."""
_FEWEST_GROUPS = 3


def length_charts(study: Study, source: str) -> tuple[Chart, ...]:
    """Histogram, Q–Q, complementary distribution, caps, and lengths by prompt if known.

    None for lengths that are all the same. source: where they come from, in a line.
    """
    if not study.ranked:
        return ()
    plain = (source,)
    fitted = (source, *_fit_note(study))
    seen = (*fitted, *_seen_note(study))
    return (
        histogram(study, fitted),
        _quantiles(study, seen),
        _survival(study, seen),
        _savings(study, plain),
        *_prompts(study, plain),
    )


def _fit_note(study: Study) -> Iterator[str]:
    cut = int(study.sample.cut.sum())
    over = study.sample.missing_over
    if over is not None:
        yield f"Fits are of lengths up to {over:,}: longer ones are missing."
    if cut:
        by = f" at {study.cap:,} tokens, as their number shows" if study.cap_found else ""
        were = "1 answer was" if cut == 1 else f"{cut:,} answers were"
        yield f"{were} cut off{by}: fits take them for that long or longer."


def _seen_note(study: Study) -> Iterator[str]:
    if study.sample.cut.any():
        yield "What is seen is Kaplan and Meier's estimate: as if none had been cut."


def _quantiles(study: Study, notes: tuple[str, ...]) -> Chart:
    """A fit that holds lies on the diagonal."""
    sample = study.sample
    below = seen_below(sample)
    points = min(_QUANTILES, sample.count)
    shares = np.append((np.arange(points) + 0.5) / points, _FAR_SHARES)
    last = float(below[np.flatnonzero(sample.ended)[-1]]) if sample.ended.any() else 0.0
    shares = shares[(shares < last) & (shares < 1 - 0.5 / sample.count)]
    seen = sample.lengths[np.searchsorted(below, shares)].astype(np.float64)
    most = 100 * int(sample.lengths[-1])
    ends = [max(float(sample.lengths[0]), 1.0), float(sample.lengths[-1])]
    each = [
        Series(
            label=label(one), x=one.fit.quantile(shares, most).tolist(), y=seen.tolist(),
            kind="points",
        )
        for one in study.ranked
    ]  # fmt: skip
    return Chart(
        name="qq",
        title="Q–Q: lengths that are seen against those that a fit expects",
        x_label="quantile of the fit (tokens)",
        y_label="quantile that is seen (tokens)",
        series=(Series(label="as expected", x=ends, y=ends), *each),
        x_scale="log",
        y_scale="log",
        notes=notes,
    )


def _survival(study: Study, notes: tuple[str, ...]) -> Chart:
    """Tails: a power law is a straight line here."""
    sample = study.sample
    above = 1 - seen_below(sample)
    x = np.unique(np.geomspace(max(1, sample.lengths[0]), sample.lengths[-1], CURVE).round())
    least = max(0.5 / sample.count, float(above[above > 1e-12].min(initial=1.0)) / 4)
    lines = [
        Series(label=label(one), x=x.tolist(), y=_from(one.fit.above(x), least))
        for one in study.ranked
    ]
    seen = Series(label=SEEN, x=sample.lengths.tolist(), y=_from(above, least), kind="steps")
    return Chart(
        name="ccdf",
        title="Answers that are longer: the complementary distribution",
        x_label="length (tokens)",
        y_label="share of answers that are longer",
        series=(seen, *lines),
        x_scale="log",
        y_scale="log",
        y_range=(least, 1.3),
        notes=notes,
    )


def _from(values: Floats, least: float) -> list[float]:
    """What is lower is not drawn: NaN."""
    return [float(value) if value >= least else np.nan for value in values]


def _savings(study: Study, notes: tuple[str, ...]) -> Chart:
    tokens = np.array(study.data.tokens)
    low, high = max(1, int(tokens.min())), int(tokens.max())
    tried = np.unique(np.geomspace(low, high, CURVE).round().astype(int))
    curve = [capped(study.data.tokens, int(one)) for one in tried]
    x = tried.tolist()
    return Chart(
        name="caps",
        title="What a cap on the answer's length saves, and what it costs",
        x_label="cap (tokens)",
        y_label="share (%)",
        series=(
            Series(label="tokens saved", x=x, y=[100 * one.saved_share for one in curve]),
            Series(label="answers cut short", x=x, y=[100 * one.cut_share for one in curve]),
        ),
        x_scale="log",
        y_range=(0.0, 102.0),
        notes=notes,
    )


def _prompts(study: Study, notes: tuple[str, ...]) -> Iterator[Chart]:
    """A group of prompts is a stretch of the axis: inside, nothing is known of how it goes on."""
    groups = by_prompt(study.data.answers)
    if len(groups) < _FEWEST_GROUPS:
        return
    between = [(one.longest + after.shortest) / 2 for one, after in pairwise(groups)]
    x = [groups[0].shortest, *(end for end in between for _ in range(2)), groups[-1].longest]
    low, middle, high = (
        [one.quartiles[place] for one in groups for _ in range(2)] for place in range(3)
    )
    halves = "the middle half of the answers"
    yield Chart(
        name="prompts",
        title="Answers to prompts of similar lengths",
        x_label="length of the prompt (tokens)",
        y_label="length of the answer (tokens)",
        series=(
            Series(label=halves, x=x, y=low, y_high=high, kind="band"),
            Series(label="their median", x=x, y=middle, like=halves),
        ),
        x_scale="log",
        notes=(*notes, f"{len(groups)} groups, each of as many answers."),
    )
