"""`nextok lab loop --explain`: one position of the loop in words, as soon as its token is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from nextok.cli.console import one_line
from nextok.lab.numbers import percent
from nextok.lab.sampling_steps import Position, SamplingStep

_MOST_NAMED = 5


def explained(one: Position) -> str:
    """Some lines: what the model expects, what each step did, and what was drawn."""
    return "".join(f"{one_line(line) if line else ''}\n" for line in _lines(one))


def _lines(one: Position) -> Iterator[str]:
    before, after = one.steps[0], one.steps[-1]
    yield f"token {one.index}: {one.text!r}"
    yield (
        f"· the model: {_named(before)}; entropy {before.entropy_bits:.2f} bits, "
        f"nucleus {one.nucleus_size:,} of {before.candidates:,}"
    )
    for earlier, step in zip(one.steps, one.steps[1:], strict=False):
        yield f"· {step.name}: {_done(earlier, step)}"
    yield (
        f"· drawn out of {after.candidates:,} with {percent(one.drawn_probability, 1)}: "
        f"{one.text!r}; the model gave it {percent(one.probability, 2)}"
    )
    yield ""


def _done(before: SamplingStep, step: SamplingStep) -> str:
    parts = []
    if step.removed:
        first = step.likeliest_removed
        named = f", {first.text!r} the likeliest of them" if first is not None else ""
        parts.append(
            f"candidates {before.candidates:,} → {step.candidates:,}, "
            f"{percent(step.removed_mass, 2)} of the probability removed{named}"
        )
    change = step.entropy_bits - before.entropy_bits
    if abs(change) >= 0.005:
        parts.append(f"entropy {before.entropy_bits:.2f} → {step.entropy_bits:.2f} bits")
    return "; ".join(parts) or "nothing changed"


def _named(step: SamplingStep) -> str:
    return ", ".join(
        f"{one.text!r} {percent(one.probability, 1)}" for one in step.top[:_MOST_NAMED]
    )
