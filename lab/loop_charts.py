"""The pictures of the loop taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nextok.lab.chart import Chart, Series
from nextok.lab.loop_data import running_product
from nextok.lab.numbers import magnitude, percent
from nextok.lab.sampler_agreement import Agreement
from nextok.lab.sampling_steps import Position, SamplingStep
from nextok.lab.subject import Subject

_NAMED = 12
"""Candidates in a picture of draws."""


def loop_charts(
    positions: Sequence[Position],
    chosen: Sequence[Position],
    agreed: Agreement | None,
    subject: Subject,
) -> tuple[Chart, ...]:
    """All of them; none without a token."""
    return tuple(_charts(positions, chosen, agreed, subject)) if positions else ()


def _charts(
    positions: Sequence[Position],
    chosen: Sequence[Position],
    agreed: Agreement | None,
    subject: Subject,
) -> Iterator[Chart]:
    yield from (_distribution(one) for one in chosen)
    if any(len(one.steps) > 1 for one in chosen):
        yield _candidates(chosen)
    yield _entropy(positions)
    yield _product(positions)
    if agreed is not None:
        yield _draws(agreed, subject)


def _distribution(one: Position) -> Chart:
    """The candidates of a position as the model has them, and after the last step."""
    before, after = one.steps[0], one.steps[-1]
    names = [candidate.text for candidate in before.top]
    left = {candidate.id: candidate.probability for candidate in after.top}
    places = list(range(len(names)))
    series = [
        Series(
            label="the model",
            x=places,
            y=[100 * candidate.probability for candidate in before.top],
            kind="bars",
        )
    ]
    if after is not before:
        series.append(
            Series(
                label="after all sampling steps",
                x=places,
                y=[100 * left.get(candidate.id, 0.0) for candidate in before.top],
                kind="bars",
            )
        )
    return Chart(
        name=f"token-{one.index}",
        title=f"Token {one.index}: what the model expects, and what may be drawn",
        x_label="token (the likeliest)",
        y_label="probability (%)",
        series=tuple(series),
        x_names=tuple(repr(name) for name in names),
        notes=(
            f"Entropy {before.entropy_bits:.2f} bits, after the steps {after.entropy_bits:.2f}; "
            f"{after.candidates:,} of {before.candidates:,} candidates left; "
            f"drawn: {one.text!r}",
            *_cuts(one.steps),
        ),
    )


def _cuts(steps: Sequence[SamplingStep]) -> Iterator[str]:
    for step in steps:
        if step.removed and step.likeliest_removed is not None:
            yield (
                f"{step.name} removed {step.removed:,} with {percent(step.removed_mass, 2)} of the "
                f"probability, the likeliest of them {step.likeliest_removed.text!r}"
            )


def _candidates(chosen: Sequence[Position]) -> Chart:
    steps = chosen[0].steps
    return Chart(
        name="steps",
        title="Candidates that are left after each sampling step",
        x_label="after the step",
        y_label="candidates (tokens)",
        y_scale="log",
        series=tuple(
            Series(
                label=f"token {one.index}: {one.text!r}",
                x=list(range(len(one.steps))),
                y=[step.candidates for step in one.steps],
                kind="bars",
            )
            for one in chosen
        ),
        x_names=tuple(step.name for step in steps),
    )


def _entropy(positions: Sequence[Position]) -> Chart:
    index = [one.index for one in positions]
    return Chart(
        name="entropy",
        title="How open each token is",
        x_label="token index",
        y_label="entropy (bits)",
        series=(
            Series(label="the model", x=index, y=[one.entropy_bits for one in positions]),
            Series(
                label="after all sampling steps",
                x=index,
                y=[one.steps[-1].entropy_bits for one in positions],
            ),
        ),
        notes=("0 bits: one candidate; each bit doubles how many equally likely ones it is like.",),
    )


def _product(positions: Sequence[Position]) -> Chart:
    index = [one.index for one in positions]
    return Chart(
        name="product",
        title="P(x₁…xₙ): the running product of the tokens' probabilities",
        x_label="token index",
        y_label="log₁₀ of the probability",
        series=(
            Series(
                label="by the model",
                x=index,
                y=running_product([one.probability for one in positions]),
            ),
            Series(
                label="as it was drawn, after the sampling steps",
                x=index,
                y=running_product([one.drawn_probability for one in positions]),
            ),
        ),
    )


def _draws(found: Agreement, subject: Subject) -> Chart:
    """What both samplers drew, beside what they must draw on average."""
    ids = found.ids[:_NAMED]
    places = list(range(len(ids)))
    kinds = (
        ("probability", [100 * share for share in found.probabilities]),
        ("written-out sampler", [100 * count / found.draws for count in found.written_draws]),
        ("native chain", [100 * count / found.draws for count in found.chain_draws]),
    )
    return Chart(
        name="agreement",
        title=f"Two samplers, {found.draws:,} draws each at token {found.index}",
        x_label="token (the likeliest)",
        y_label="share of the draws (%)",
        series=tuple(
            Series(label=label, x=places, y=values[: len(ids)], kind="bars")
            for label, values in kinds
        ),
        x_names=tuple(repr(subject.tokenizer.text(token)) for token in ids),
        notes=(
            f"temperature {found.temperature:g}, then top-p {found.top_p:g}: "
            f"{len(found.ids):,} candidates; the two samplers' probabilities differ by at most "
            f"{magnitude(found.largest_difference)}",
        ),
    )
