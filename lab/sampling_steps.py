"""One position of a generation under the microscope: what each sampling step did to it.

Figures of candidates that `nextok.backends.sampling_stages` has taken; knows no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.backends.sampling_stages import Stage
from nextok.generation.nucleus import nucleus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Shares = NDArray[np.float64]

MOST_SHOWN = 10
"""Candidates of a step that are named."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A token and how likely it is."""

    id: int
    text: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class SamplingStep:
    """What there is after a step; `model` is what there is before the first."""

    name: str
    candidates: int
    removed: int
    """Tokens that this step took out."""
    removed_mass: float
    """Their probability together, before this step."""
    likeliest_removed: Candidate | None
    """With its probability before this step."""
    entropy_bits: float
    top: Sequence[Candidate]
    """The likeliest first."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """One token of a generation."""

    index: int
    token: int
    text: str
    probability: float
    """That the model gave it."""
    drawn_probability: float
    """That it was drawn with, after all steps."""
    nucleus_size: int
    """How many tokens it takes to reach top-p, as the model has it."""
    steps: Sequence[SamplingStep]

    @property
    def entropy_bits(self) -> float:
        """Of what the model says."""
        return self.steps[0].entropy_bits


def taken_apart(
    index: int,
    token: int,
    stages: Sequence[Stage],
    *,
    top_p: float,
    greedy: bool,
    text: Callable[[int], str],
) -> Position:
    """The figures of one position.

    greedy: nothing was drawn: the likeliest of the last stage was taken.
    text: of a token, as one reads it.
    """
    each = [_shares(stage) for stage in stages]
    last = stages[-1]
    drawn = each[-1][last.ids == token]
    return Position(
        index=index,
        token=token,
        text=text(token),
        probability=float(each[0][token]),
        drawn_probability=1.0 if greedy else float(drawn.sum()),
        nucleus_size=len(nucleus(each[0].tolist(), top_p)),
        steps=[
            _step(stages, each, place, text) for place in range(len(stages))
        ],
    )  # fmt: skip


def _step(
    stages: Sequence[Stage], each: Sequence[Shares], place: int, text: Callable[[int], str]
) -> SamplingStep:
    import numpy as np

    stage, shares = stages[place], each[place]
    left = shares > 0
    before = place - 1 if place else 0
    kept = np.isin(stages[before].ids, stage.ids[left])
    gone = np.where(kept, 0.0, each[before])
    worst = int(np.argmax(gone))
    removed = int(np.count_nonzero(gone))
    return SamplingStep(
        name=stage.step,
        candidates=int(np.count_nonzero(left)),
        removed=removed,
        removed_mass=float(gone.sum()),
        likeliest_removed=_candidate(stages[before], each[before], worst, text)
        if removed
        else None,
        entropy_bits=entropy_bits(shares),
        top=[_candidate(stage, shares, one, text) for one in _likeliest(stage, shares)],
    )


def _likeliest(stage: Stage, shares: Shares) -> list[int]:
    """The places of the likeliest, the lowest id among equals."""
    import numpy as np

    order = np.lexsort((stage.ids, -shares))[:MOST_SHOWN]
    return [int(place) for place in order if shares[place] > 0]


def _candidate(stage: Stage, shares: Shares, place: int, text: Callable[[int], str]) -> Candidate:
    token = int(stage.ids[place])
    return Candidate(id=token, text=text(token), probability=float(shares[place]))


def _shares(stage: Stage) -> Shares:
    """Softmax."""
    import numpy as np

    scores = stage.scores.astype(np.float64)
    weights = np.exp(scores - scores.max())
    shares: Shares = weights / weights.sum()
    return shares


def entropy_bits(shares: Shares) -> float:
    """How many questions with two answers it takes, on average, to find out the token."""
    import numpy as np

    positive = shares[shares > 0]
    return max(0.0, float(-(positive * np.log2(positive)).sum()))
