"""What the loop taken apart shows, in three sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from nextok.generation.sampling import Sampling
from nextok.lab.numbers import counted, magnitude, number, percent, power_of_ten
from nextok.lab.sampler_agreement import Agreement
from nextok.lab.sampling_steps import Position

_SUSPICIOUS = 0.001
"""Draws that chance makes as seldom as this are called different."""


def loop_sentences(
    positions: Sequence[Position], agreed: Agreement | None, sampling: Sampling
) -> tuple[str, ...]:
    """Three; without the last one where the samplers were not compared."""
    return tuple(_sentences(positions, agreed, sampling)) if positions else ()


def _sentences(
    positions: Sequence[Position], agreed: Agreement | None, sampling: Sampling
) -> Iterator[str]:
    yield _nuclei(positions, sampling)
    yield _steps(positions)
    product = sum(math.log10(max(one.probability, 1e-300)) for one in positions)
    drawn = sum(math.log10(max(one.drawn_probability, 1e-300)) for one in positions)
    text = (
        f"The text of {counted(len(positions), 'token')} has the probability "
        f"{power_of_ten(product)} by the model, the product of one number for each token "
        f"(perplexity {number(10 ** (-product / len(positions)))}), and {power_of_ten(drawn)} "
        "after the sampling steps"
    )
    yield f"{text}; {_agreed(agreed)}." if agreed is not None else f"{text}."


def _nuclei(positions: Sequence[Position], sampling: Sampling) -> str:
    sizes = [one.nucleus_size for one in positions]
    least, most = min(positions, key=_openness), max(positions, key=_openness)
    share = sampling.top_p if sampling.top_p < 1 else 0.95
    size = round(median(sizes))
    make = "makes" if size == 1 else "make"
    return (
        f"Of {positions[0].steps[0].candidates:,} tokens, {size:,} (median) {make} up "
        f"{percent(share)} of what the model expects next: {_size(least)} where it is surest "
        f"(token {least.index}, {least.text!r}) and {_size(most)} where it is least sure "
        f"(token {most.index}, {most.text!r})."
    )


def _openness(one: Position) -> tuple[float, int]:
    return one.entropy_bits, one.index


def _size(one: Position) -> str:
    return f"{one.nucleus_size:,}"


def _steps(positions: Sequence[Position]) -> str:
    """What each step that did anything took away, on average."""
    first, last = [one.steps[0] for one in positions], [one.steps[-1] for one in positions]
    cuts = []
    for place, step in enumerate(positions[0].steps[1:], 1):
        masses = [one.steps[place].removed_mass for one in positions if place < len(one.steps)]
        if any(masses):
            cuts.append(f"{step.name} {percent(fmean(masses))}")
    sizes = [one.candidates for one in last]
    taken = f" ({', '.join(cuts)} of the probability on average)" if cuts else ""
    return (
        f"The sampling steps leave {counted(round(median(sizes)), 'candidate')} "
        f"(median){taken}, and bring the entropy from "
        f"{fmean(one.entropy_bits for one in first):.2f} to "
        f"{fmean(one.entropy_bits for one in last):.2f} bits a token."
    )


def _agreed(found: Agreement) -> str:
    where = f"at token {found.index} the written-out nucleus sampler and the native chain"
    if not found.same_candidates:
        return f"{where} do not keep the same candidates"
    even = min(found.written_p, found.chain_p)
    drew = "as they must" if even > _SUSPICIOUS else "more unevenly than chance allows"
    return (
        f"{where} keep the same {counted(len(found.ids), 'candidate')}, their probabilities "
        f"differ by at most {magnitude(found.largest_difference)}, "
        f"and {found.draws:,} draws of each fall {drew} "
        f"(χ²: p = {found.written_p:.2f} and {found.chain_p:.2f})"
    )
