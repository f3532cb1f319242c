"""Requests as a service gets them: when, how long, and which of them nobody waits for.

Promises that the share of abandoned requests is exactly what was asked for, to the nearest whole
request. Knows no machine.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Lengths(NamedTuple):
    """Of one request, in tokens."""

    prompt: int
    output: int
    """If nobody goes away."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One of them."""

    arrival: float
    """Seconds since the first could have come."""
    lengths: Lengths
    abandoned_after: int | None = None
    """Tokens of the answer after which the reader goes away; None: stays to the end."""

    def tokens(self, *, propagates: bool) -> int:
        """How many are made: those that are read, or all, if nobody hears that the reader went."""
        if propagates and self.abandoned_after is not None:
            return self.abandoned_after
        return self.lengths.output


# Of the conversations in Microsoft's public trace of a chat service (Azure LLM inference, 2023):
# prompts of 1,155 and answers of 211 tokens on average.
_PARTS = (0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75,
          0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1)  # fmt: skip
_PROMPTS = (2, 181, 207, 372, 387, 396, 403, 414, 703, 984, 1020, 1045, 1071, 1097, 1130, 1189,
            1315, 1877, 2735, 4083, 4098, 4142, 4831, 6212, 14050)  # fmt: skip
_OUTPUTS = (7, 41, 54, 67, 77, 85, 91, 96, 103, 113, 129, 151, 177, 217, 384, 395, 400, 411, 424,
            451, 540, 601, 644, 954, 1000)  # fmt: skip
CHAT_SERVICE = "lengths as in a public trace of a chat service (Azure, 2023)"


def chat_lengths(count: int, draw: random.Random) -> list[Lengths]:
    """Lengths that are distributed like those of a chat service."""
    return [
        Lengths(_quantile(_PROMPTS, draw.random()), _quantile(_OUTPUTS, draw.random()))
        for _ in range(count)
    ]


def drawn_lengths(known: Sequence[Lengths], count: int, draw: random.Random) -> list[Lengths]:
    """Lengths of requests that were seen, each as likely as any other."""
    return draw.choices(known, k=count)


def poisson_arrivals(count: int, draw: random.Random) -> list[float]:
    """Arrivals that know nothing of each other, one a second on average."""
    at, found = 0.0, []
    for _ in range(count):
        at += draw.expovariate(1.0)
        found.append(at)
    return found


def unit_arrivals(recorded: Sequence[float]) -> list[float]:
    """The recorded moments, drawn out or pressed together so that one comes a second."""
    first, last = recorded[0], recorded[-1]
    if last <= first:  # all at once, and so they stay
        return [0.0] * len(recorded)
    factor = (len(recorded) - 1) / (last - first)
    return [(one - first) * factor for one in recorded]


def with_readers(
    arrivals: Sequence[float],
    lengths: Sequence[Lengths],
    abandoned_share: float,
    draw: random.Random,
) -> list[Request]:
    """The requests. Which are abandoned, and after which of their tokens, is drawn.

    A larger share takes those of a smaller one along, and they are abandoned at the same tokens.
    """
    count = len(arrivals)
    order = draw.sample(range(count), count)
    moments = [draw.randrange(one.output) for one in lengths]
    leaving = set(order[: round(abandoned_share * count)])
    return [
        Request(
            arrival=at,
            lengths=one,
            abandoned_after=moments[place] if place in leaving else None,
        )
        for place, (at, one) in enumerate(zip(arrivals, lengths, strict=True))
    ]


def _quantile(values: Sequence[int], part: float) -> int:
    above = max(1, bisect_left(_PARTS, part))
    low, high = _PARTS[above - 1], _PARTS[above]
    within = (part - low) / (high - low)
    return round(values[above - 1] + (values[above] - values[above - 1]) * within)
