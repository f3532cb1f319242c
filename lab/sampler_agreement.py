"""The written-out nucleus sampler held against the production chain, at one position.

Twice: by the probabilities each gives to the candidates it keeps, and by what each draws.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from nextok.backends.sampling_stages import sampling_stages
from nextok.generation.model import Logits
from nextok.generation.nucleus import nucleus, softmax
from nextok.generation.sampling import Sampling
from nextok.lab.progress import Progress
from nextok.lab.subject import Subject

_PLAIN = Sampling(top_k=0, min_p=0.0, samplers=("temperature", "top_p"))
"""What both know: temperature, then the nucleus."""
_EXPECTED = 5.0
"""Draws a cell of the chi-square test must have to expect; smaller ones are put together."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What came of it. The sequences are in the order of `ids`, the likeliest first."""

    index: int
    """Of the token."""
    temperature: float
    top_p: float
    draws: int
    ids: Sequence[int]
    probabilities: Sequence[float]
    """As the written-out sampler has them, of all it keeps together 1."""
    same_candidates: bool
    largest_difference: float
    """Between a probability of the one and of the other."""
    written_draws: Sequence[int]
    chain_draws: Sequence[int]
    written_p: float
    """How often chance alone makes draws as uneven as these, or more."""
    chain_p: float


def agreement(
    subject: Subject, logits: Logits, index: int, draws: int, progress: Progress
) -> Agreement:
    """Keep and draw with both. Raises EngineError, and Aborted from the progress.

    index: of the token that these are the logits of.
    """
    plain = _plain(subject.sampling)
    scores = [logits[token] for token in range(len(logits))]
    kept = nucleus(softmax(scores, plain.temperature), plain.top_p)
    mass = sum(share for _, share in kept)
    own = {token: share / mass for token, share in kept}
    written = subject.written_out(plain)
    mine = Counter(written.draw(kept) for _ in range(draws))
    chained, theirs = _chain(subject, plain, logits, draws, progress)
    ids, shares = list(own), list(own.values())
    counts = [[drawn[token] for token in ids] for drawn in (mine, theirs)]
    return Agreement(
        index=index,
        temperature=plain.temperature,
        top_p=plain.top_p,
        draws=draws,
        ids=ids,
        probabilities=shares,
        same_candidates=own.keys() == chained.keys(),
        largest_difference=max(
            abs(own.get(one, 0) - chained.get(one, 0)) for one in {**own, **chained}
        ),
        written_draws=counts[0],
        chain_draws=counts[1],
        written_p=chance(shares, counts[0]),
        chain_p=chance(shares, counts[1]),
    )


def _plain(sampling: Sampling) -> Sampling:
    """What both can do of these settings."""
    return _PLAIN._replace(
        temperature=_PLAIN.temperature if sampling.greedy else sampling.temperature,
        top_p=sampling.top_p if sampling.top_p < 1 else _PLAIN.top_p,
        seed=sampling.seed,
    )


def _chain(
    subject: Subject, plain: Sampling, logits: Logits, draws: int, progress: Progress
) -> tuple[dict[int, float], Counter[int]]:
    """The production chain's candidates with their probabilities, and what it draws."""
    drawn: Counter[int] = Counter()
    with closing(subject.sampler((), plain)) as chain:
        last = sampling_stages(chain, logits)[-1]
        for done in range(1, draws + 1):
            drawn[chain.sample(logits)] += 1
            progress.step(done, draws, "draws")
    shares = zip(last.ids.tolist(), softmax(last.scores.tolist(), 1.0), strict=True)
    return {token: share for token, share in shares if share > 0}, drawn


def chance(shares: Sequence[float], counts: Sequence[int]) -> float:
    """Pearson's chi-square test: how likely counts as uneven as these are, drawn from the shares.

    By Wilson and Hilferty's approximation; 1 where there is nothing to compare.
    """
    total, cells, rest = sum(counts), list[tuple[float, int]](), (0.0, 0)
    for share, count in zip(shares, counts, strict=True):
        if share * total >= _EXPECTED:
            cells.append((share * total, count))
        else:
            rest = rest[0] + share * total, rest[1] + count
    if rest[0] >= _EXPECTED:
        cells.append(rest)
    freedom = len(cells) - 1
    if freedom < 1:
        return 1.0
    statistic = sum((count - expected) ** 2 / expected for expected, count in cells)
    spread = 2 / (9 * freedom)
    deviation = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return math.erfc(deviation / math.sqrt(2)) / 2
