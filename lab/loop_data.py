"""What the loop taken apart comes to, as JSON can hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from nextok.lab.findings import COMPLETE, TIMES
from nextok.lab.sampler_agreement import Agreement
from nextok.lab.sampling_steps import Position
from nextok.lab.subject import Subject

_DIGITS = 6
"""That count: more would be the kernels' rounding."""


def loop_data(
    subject: Subject,
    prompt: str,
    prompt_tokens: int,
    positions: Sequence[Position],
    chosen: Sequence[Position],
    agreed: Agreement | None,
) -> Mapping[str, object]:
    """All figures. Those of the chosen positions with their candidates, the others in brief."""
    found = {
        COMPLETE: agreed is not None,
        "settings": subject.settings,
        "sampling": subject.sampling._asdict(),
        "prompt": prompt,
        "prompt_tokens": prompt_tokens,
        "text": subject.text([one.token for one in positions]),
        "tokens": [_row(one) for one in positions],
        "log10_p": running_product([one.probability for one in positions]),
        "log10_p_drawn": running_product([one.drawn_probability for one in positions]),
        "closer": [asdict(one) for one in chosen],
        "agreement": None if agreed is None else asdict(agreed),
        TIMES: {},
    }
    return {key: _rounded(value) for key, value in found.items()}


def _row(one: Position) -> Mapping[str, object]:
    return {
        "index": one.index,
        "id": one.token,
        "text": one.text,
        "probability": one.probability,
        "drawn_probability": one.drawn_probability,
        "entropy_bits": one.entropy_bits,
        "nucleus_size": one.nucleus_size,
        "candidates": {step.name: step.candidates for step in one.steps},
    }


def _rounded(value: object) -> object:
    """Floats with as many digits as count, at any depth."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return value


def chosen_positions(positions: Sequence[Position], at: Sequence[int]) -> list[Position]:
    """Those asked for; else where the model is surest, in between, and least sure."""
    if at:
        return [one for one in positions if one.index in at]
    ranked = sorted(positions, key=lambda one: (one.entropy_bits, one.index))
    picked = {ranked[place].index for place in (0, len(ranked) // 2, -1)} if ranked else set()
    return [one for one in positions if one.index in picked]


def running_product(probabilities: Sequence[float]) -> list[float]:
    """Base-10 logarithms of the product of the first, of the first two, …"""
    total, found = 0.0, []
    for one in probabilities:
        total += math.log10(one) if one > 0 else -math.inf
        found.append(total)
    return found
