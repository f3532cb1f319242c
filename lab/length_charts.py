"""The pictures of lengths, as data: how they are spread, how fits hold, and what a cap saves.

Knows figures only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nextok.lab.chart import Chart, Series
from nextok.lab.length_goodness import seen_below
from nextok.lab.length_prediction import by_prompt
from nextok.lab.length_sample import Floats, Integers
from nextok.lab.length_study import Ranked, Study

SEEN = "seen"
_MOST_BINS = 60
_SHOWN = 0.995
"""Of the answers a histogram shows: a few that are far longer would press it flat."""
_CURVE = 240
"""Points of a smooth line."""
_QUANTILES = 100


def length_charts(study: Study, source: str) -> tuple[Chart, ...]:
    """Histogram, Q–Q, complementary distribution, caps, and lengths by prompt if known.

    source: where the lengths come from, in a line.
    """
    notes = (source, *_cap_note(study))
    every = (
        _histogram(study, notes),
        _quantiles(study, notes),
        _survival(study, notes),
        _savings(study, (source,)),
    )
    return (*every, *_prompts(study, (source,)))


def _cap_note(study: Study) -> Iterator[str]:
    cut = int(study.sample.cut.sum())
    if study.sample.missing_over is not None:
        yield f"Fits are of lengths up to {study.sample.missing_over:,}: longer ones are missing."
    elif cut:
        yield (
            f"{cut:,} answers were cut off: fits take them for that long or longer, "
            "and what is seen is Kaplan and Meier's estimate."
        )


def _histogram(study: Study, notes: Sequence[str]) -> Chart:
    sample = study.sample
    tokens = np.sort(np.array(study.data.tokens))
    edges = _edges(tokens)
    counts, _ = np.histogram(tokens, bins=edges)
    middles = (edges[:-1] + edges[1:]) / 2
    hidden = int((tokens > edges[-1]).sum())
    lines = [
        Series(
            label=_label(one), x=middles.tolist(), kind="line",
            y=(100 * np.diff(one.fit.below(edges - 0.5))).tolist(),
        )
        for one in study.ranked
    ]  # fmt: skip
    width = int(edges[1] - edges[0])
    more = (f"{hidden:,} longer ones are not shown.",) if hidden else ()
    bars = Series(
        label=SEEN, x=middles.tolist(), y=(100 * counts / sample.count).tolist(), kind="bars"
    )
    return Chart(
        name="lengths-histogram",
        title="How long answers are",
        x_label="length of the answer (tokens)",
        y_label=f"share of answers in {width:,} token{'s' * (width > 1)} (%)",
        series=(bars, *lines),
        notes=(*notes, *more),
        y_range=(0.0, 1.12 * max(float(counts.max()) / sample.count * 100, _highest(lines))),
    )


def _highest(lines: Sequence[Series]) -> float:
    return max(max(one.y) for one in lines)


def _edges(tokens: Integers) -> Floats:
    """Of equal bins of whole tokens: Freedman and Diaconis' width, within what can be seen.

    Half a token before the first length of each.
    """
    last = int(np.quantile(tokens, _SHOWN, method="higher"))
    spread = float(np.subtract(*np.quantile(tokens, (0.75, 0.25))))
    wanted = 2 * spread / len(tokens) ** (1 / 3)
    width = max(1, round(max(wanted, (last + 1) / _MOST_BINS)))
    first = int(tokens[0]) // width * width
    return np.arange(first, last + width + 1, width) - 0.5


def _quantiles(study: Study, notes: Sequence[str]) -> Chart:
    """A fit that holds lies on the diagonal."""
    sample = study.sample
    below = seen_below(sample)
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    shares = np.append(shares[:-1], [0.995, 0.999, 0.9995])
    last = float(below[np.flatnonzero(sample.ended)[-1]]) if sample.ended.any() else 0.0
    shares = shares[(shares < last) & (shares > 1 / sample.count)]
    seen = sample.lengths[np.searchsorted(below, shares)].astype(np.float64)
    most = 100 * int(sample.lengths[-1])
    ends = [max(float(seen.min(initial=1)), 1.0), float(sample.lengths[-1])]
    points = [
        Series(
            label=_label(one), x=one.fit.quantile(shares, most).tolist(), y=seen.tolist(),
            kind="points",
        )
        for one in study.ranked
    ]  # fmt: skip
    return Chart(
        name="lengths-qq",
        title="Q–Q: lengths that are seen against those that a fit expects",
        x_label="quantile of the fit (tokens)",
        y_label="quantile that is seen (tokens)",
        series=(Series(label="as expected", x=ends, y=ends), *points),
        x_scale="log",
        y_scale="log",
        notes=notes,
    )


def _survival(study: Study, notes: Sequence[str]) -> Chart:
    """Tails: a power law is a straight line here."""
    sample = study.sample
    above = 1 - seen_below(sample)
    x = np.unique(np.geomspace(max(1, sample.lengths[0]), sample.lengths[-1], _CURVE).round())
    least = 0.5 / sample.count
    lines = [
        Series(label=_label(one), x=x.tolist(), y=_from(one.fit.above(x), least))
        for one in study.ranked
    ]
    seen = Series(label=SEEN, x=sample.lengths.tolist(), y=_from(above, least), kind="steps")
    return Chart(
        name="lengths-ccdf",
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
    return np.where(values >= least, values, np.nan).tolist()


def _savings(study: Study, notes: Sequence[str]) -> Chart:
    x = [float(one.tokens) for one in study.caps]
    saved = [100 * one.saved_share for one in study.caps]
    cut = [100 * one.cut_share for one in study.caps]
    return Chart(
        name="lengths-caps",
        title="What a cap on the answer's length saves, and what it costs",
        x_label="cap (tokens)",
        y_label="share (%)",
        series=(
            Series(label="tokens saved", x=x, y=saved),
            Series(label="answers cut short", x=x, y=cut),
        ),
        x_scale="log",
        y_range=(0.0, 102.0),
        notes=notes,
    )


def _prompts(study: Study, notes: Sequence[str]) -> Iterator[Chart]:
    groups = by_prompt(study.data.answers)
    if len(groups) < 2:
        return
    x = [one.prompt_tokens for one in groups]
    yield Chart(
        name="lengths-prompts",
        title="Answers to prompts of similar lengths",
        x_label="length of the prompt (tokens)",
        y_label="length of the answer (tokens)",
        series=(
            Series(
                label="the middle half of the answers", x=x, kind="band",
                y=[one.quartiles[0] for one in groups], y_high=[one.quartiles[2] for one in groups],
            ),
            Series(
                label="median", x=x, y=[one.quartiles[1] for one in groups],
                like="the middle half of the answers",
            ),
        ),
        x_scale="log",
        notes=notes,
    )  # fmt: skip


def _label(one: Ranked) -> str:
    return one.fit.family.name if one.goodness.accepted else f"{one.fit.family.name} (rejected)"
