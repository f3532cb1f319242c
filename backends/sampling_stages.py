"""A sampler taken apart: the candidates that are left after each of its steps, at one position.

Promises to change nothing: the sampler draws afterwards as if nobody had looked. For experiments;
needs numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.backends.logits_array import logits_array
from nextok.generation.model import Logits, Sampler
from nextok.generation.nucleus import NucleusSampler, nucleus, softmax

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BEFORE = "model"
"""The name of the stage before the first step."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What one step left."""

    step: str
    """The step's name in the engine's words."""
    ids: NDArray[np.int32]
    scores: NDArray[np.float32]
    """Logits, one a candidate; those of a candidate that is banned are minus infinity."""


def sampling_stages(sampler: Sampler, logits: Logits) -> list[Stage]:
    """What the model says, and then what each step leaves of it; steps without effect left out."""
    from nextok.backends.llama_sampler import LlamaSampler

    first = _all_of(logits)
    if isinstance(sampler, LlamaSampler):
        from nextok.backends.llama_stages import llama_stages

        return [first, *llama_stages(sampler, first)]
    if isinstance(sampler, NucleusSampler) and sampler.temperature > 0:
        return [first, *_written_out(sampler, first)]
    return [first]


def _all_of(logits: Logits) -> Stage:
    import numpy as np

    scores = logits_array(logits).copy()
    return Stage(step=BEFORE, ids=np.arange(len(scores), dtype=np.int32), scores=scores)


def _written_out(sampler: NucleusSampler, first: Stage) -> list[Stage]:
    import numpy as np

    scores = first.scores / np.float32(sampler.temperature)
    kept = nucleus(softmax(first.scores.tolist(), sampler.temperature), sampler.top_p)
    ids = np.array([token for token, _ in kept], dtype=np.int32)
    return [
        Stage(step="temperature", ids=first.ids, scores=scores),
        Stage(step="top-p", ids=ids, scores=scores[ids]),
    ]
