"""How well an answer's length is known before it is generated, by simple means.

A scheduler that lets short answers go first needs an order, not a number. So each predictor is
judged by both, on answers that it has not seen: how far off it is, and what its order is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nextok.lab.length_data import Answer
from nextok.lab.length_sample import Floats

_FOLDS = 5
_FEWEST = 10
"""Answers with a known prompt, below which there is nothing to learn from prompts."""
_GROUPS = 20
"""Of prompts of similar lengths."""
_FEWEST_IN_GROUP = 10

Predictor: TypeAlias = Callable[[Floats, Floats, Floats], Floats]
"""From the prompts and lengths of known answers, and from other prompts: their lengths."""


@dataclass(frozen=True, kw_only=True)
class PromptGroup:
    """Answers to prompts of similar lengths."""

    shortest: int
    longest: int
    """Of the prompts."""
    quartiles: tuple[float, float, float]
    """Of the answers."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How well one predictor does."""

    name: str
    needs_prompt: bool
    mean_absolute_error: float
    """Tokens."""
    rank_correlation: float | None
    """Spearman's; None where all answers are predicted alike."""
    scheduling_gain: float
    """Shortest first by the prediction, all waiting at once: how much of the wait it saves that
    knowing the lengths would save. 0 is an order by chance, 1 the best there is."""


def predictions(answers: Sequence[Answer], seed: int) -> list[Prediction]:
    """Of all predictors that have what they need; each answer is predicted from the others'."""
    known = [one for one in answers if one.prompt_tokens is not None]
    prompts = np.array([one.prompt_tokens for one in known], dtype=np.float64)
    lengths = np.array([one.tokens for one in known], dtype=np.float64)
    if len(known) < _FEWEST or len(np.unique(prompts)) < 2:
        lengths = np.array([one.tokens for one in answers], dtype=np.float64)
        prompts = np.zeros(len(lengths))
        chosen = [one for one in _PREDICTORS if not one[1]]
    else:
        chosen = list(_PREDICTORS)
    order = np.random.default_rng(seed).permutation(len(lengths))
    folds = np.array_split(order, min(_FOLDS, len(lengths)))
    return [
        _judged(name, needs, list(_held_out(predict, prompts, lengths, folds)))
        for name, needs, predict in chosen
    ]


def by_prompt(answers: Sequence[Answer]) -> list[PromptGroup]:
    """Equally large groups, by ascending prompts; none where prompts are not known."""
    known = [one for one in answers if one.prompt_tokens is not None]
    if len(known) < _FEWEST:
        return []
    prompts = np.array([one.prompt_tokens for one in known], dtype=np.float64)
    lengths = np.array([one.tokens for one in known], dtype=np.float64)
    place = np.searchsorted(_bounds(prompts), prompts)
    return [
        PromptGroup(
            shortest=int(prompts[place == group].min()),
            longest=int(prompts[place == group].max()),
            quartiles=tuple(np.quantile(lengths[place == group], (0.25, 0.5, 0.75)).tolist()),
        )
        for group in np.unique(place)
    ]


def _held_out(
    predict: Predictor, prompts: Floats, lengths: Floats, folds: Sequence[NDArray[np.intp]]
) -> Iterator[tuple[Floats, Floats]]:
    """Of each fold the predicted lengths and the true ones."""
    for fold in folds:
        rest = np.ones(len(lengths), dtype=bool)
        rest[fold] = False
        yield predict(prompts[rest], lengths[rest], prompts[fold]), lengths[fold]


def _judged(
    name: str, needs_prompt: bool, folds: Sequence[tuple[Floats, Floats]]
) -> Prediction:  # fmt: skip
    """Orders are judged inside a fold: from one to the next even a constant changes."""
    sizes = [len(true) for _, true in folds]
    errors = [float(np.abs(predicted - true).mean()) for predicted, true in folds]
    gains = [_gain(predicted, true) for predicted, true in folds]
    ranks = [_correlation(predicted, true) for predicted, true in folds]
    known = [(rank, size) for rank, size in zip(ranks, sizes, strict=True) if rank is not None]
    return Prediction(
        name=name,
        needs_prompt=needs_prompt,
        mean_absolute_error=float(np.average(errors, weights=sizes)),
        rank_correlation=(
            float(np.average([rank for rank, _ in known], weights=[size for _, size in known]))
            if known
            else None
        ),
        scheduling_gain=float(np.average(gains, weights=sizes)),
    )


def _gain(predicted: Floats, true: Floats) -> float:
    """The mean wait is linear in the places: the saved share is a ratio of two covariances."""
    best = np.cov(true, ranks(true), bias=True)[0, 1]
    return float(np.cov(true, ranks(predicted), bias=True)[0, 1] / best) if best > 0 else 0.0


def _correlation(predicted: Floats, true: Floats) -> float | None:
    if np.ptp(predicted) == 0 or np.ptp(true) == 0:
        return None
    return float(np.corrcoef(ranks(predicted), ranks(true))[0, 1])


def ranks(values: Floats) -> Floats:
    """Places in ascending order from 1; equal values share the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which])


def _mean(prompts: Floats, lengths: Floats, asked: Floats) -> Floats:
    return np.full(len(asked), lengths.mean())


def _median(prompts: Floats, lengths: Floats, asked: Floats) -> Floats:
    return np.full(len(asked), np.median(lengths))


def _line(prompts: Floats, lengths: Floats, asked: Floats) -> Floats:
    """Least squares, both logarithmic: lengths are spread over powers of ten."""
    x, y = np.log1p(prompts), np.log1p(lengths)
    variance = x.var()
    slope = float(np.cov(x, y, bias=True)[0, 1] / variance) if variance > 0 else 0.0
    return np.asarray(np.expm1(y.mean() + slope * (np.log1p(asked) - x.mean())))


def _similar(prompts: Floats, lengths: Floats, asked: Floats) -> Floats:
    """The median of the answers to prompts of about that length."""
    edges = _bounds(prompts)
    mine, theirs = np.searchsorted(edges, prompts), np.searchsorted(edges, asked)
    everything = float(np.median(lengths))
    medians = np.array(
        [
            np.median(lengths[mine == group]) if np.any(mine == group) else everything
            for group in range(len(edges) + 1)
        ]
    )
    return np.asarray(medians[theirs])


def _bounds(prompts: Floats) -> Floats:
    """Where one group of prompts ends and the next begins."""
    groups = max(1, min(_GROUPS, len(prompts) // _FEWEST_IN_GROUP))
    return np.unique(np.quantile(prompts, np.linspace(0, 1, groups + 1)[1:-1]))


_PREDICTORS: tuple[tuple[str, bool, Predictor], ...] = (
    ("mean", False, _mean),
    ("median", False, _median),
    ("line through prompt lengths", True, _line),
    ("median of similar prompt lengths", True, _similar),
)
