"""The nucleus sampler, written out: temperature, softmax, smallest set reaching top-p, draw.

Holtzman et al., "The Curious Case of Neural Text Degeneration" (2019), section 3.1. It serves the
toy backend and the tests, which hold it against the engine's native chain; it looks at every
vocabulary entry in Python, so it is no sampler for a large vocabulary.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from nextok.generation.errors import EngineError
from nextok.generation.model import Logits


class NucleusSampler:
    """temperature 0 always takes the most likely token, the lowest id among equals."""

    def __init__(self, *, temperature: float, top_p: float, seed: int) -> None:
        self.temperature = temperature
        self.top_p = top_p
        self._seed = seed
        self._random = random.Random(seed)

    def sample(self, logits: Logits) -> int:
        """Draw a token. EngineError when the row holds no finite number to choose from."""
        scores = [logits[token] for token in range(len(logits))]
        best = max(range(len(scores)), key=scores.__getitem__)
        if not math.isfinite(scores[best]) or any(map(math.isnan, scores)):
            raise EngineError("the model's logits are NaN or infinite: the file may be damaged")
        if self.temperature == 0:
            return best
        return self.draw(nucleus(softmax(scores, self.temperature), self.top_p))

    def draw(self, candidates: Sequence[tuple[int, float]]) -> int:
        """One of these tokens, as their probabilities have it."""
        tokens, weights = zip(*candidates, strict=True)
        return int(self._random.choices(tokens, weights)[0])

    def accept(self, token: int) -> None:
        """Nothing to count: no penalties here."""

    def reset(self) -> None:
        """Start the random stream again."""
        self._random.seed(self._seed)


def softmax(scores: Sequence[float], temperature: float) -> list[float]:
    """Probabilities from scores; the largest is subtracted first so that exp cannot overflow."""
    peak = max(scores)
    weights = [math.exp((score - peak) / temperature) for score in scores]
    total = sum(weights)
    return [weight / total for weight in weights]


def nucleus(probabilities: Sequence[float], top_p: float) -> list[tuple[int, float]]:
    """The smallest set of tokens whose probabilities reach `top_p`, most likely first."""
    ranked = sorted(enumerate(probabilities), key=lambda pair: -pair[1])
    mass = 0.0
    for size, (_, probability) in enumerate(ranked, start=1):
        mass += probability
        if mass >= top_p:
            return ranked[:size]
    return ranked
