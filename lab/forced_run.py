"""One text, two models: what the second would have said at each token of the first one's text.

Both run on the product's own loop, one token a pass. Only the sampler is another: it watches the
first model's choices, and puts them in the place of the second one's. So the first token that the
second would have chosen otherwise is the one at which its own text would part.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from nextok.backends.logits_array import logits_array
from nextok.backends.weights import Context
from nextok.generation.loop import Job, plain_steps
from nextok.generation.model import Logits, Sampler
from nextok.generation.sampling import Sampling
from nextok.lab.likely_tokens import LikelyTokens, likely_tokens
from nextok.lab.subject import Subject


@dataclass(frozen=True, kw_only=True)
class ReferenceText:
    """What the first model said, and how sure it was."""

    prompt: Sequence[int]
    sampling: Sampling
    tokens: Sequence[int]
    """With the end token, if it came to that."""
    rows: Sequence[LikelyTokens]
    """Before each of them."""


@dataclass(frozen=True, kw_only=True)
class ForcedRun:
    """What another model would have chosen, given the same tokens up to there."""

    agrees: Sequence[bool]
    divergences: Sequence[float]
    """Of its distributions from the reference's, in nats."""
    margins: Sequence[float]
    """By how much the reference's likeliest token led over its second."""

    @property
    def first_difference(self) -> int | None:
        """The index of the first token that it would not have said."""
        return next((index for index, agrees in enumerate(self.agrees) if not agrees), None)


class _Watching:
    """A sampler that remembers what it was given and what it chose."""

    def __init__(self, inner: Sampler, kept: int) -> None:
        self._inner, self._kept = inner, kept
        self.tokens: list[int] = []
        self.rows: list[LikelyTokens] = []

    def sample(self, logits: Logits) -> int:
        token = self._inner.sample(logits)
        self.tokens.append(token)
        self.rows.append(likely_tokens(logits_array(logits), self._kept))
        return token

    def accept(self, token: int) -> None:
        self._inner.accept(token)

    def reset(self) -> None:
        self._inner.reset()


class _Forcing:
    """A sampler that chooses, and then says what the reference said."""

    def __init__(self, inner: Sampler, reference: ReferenceText) -> None:
        self._inner, self._reference = inner, reference
        self.agrees: list[bool] = []
        self.divergences: list[float] = []

    def sample(self, logits: Logits) -> int:
        place = len(self.agrees)
        wanted = self._reference.tokens[place]
        self.agrees.append(self._inner.sample(logits) == wanted)
        self.divergences.append(self._reference.rows[place].divergence(logits_array(logits)))
        return wanted

    def accept(self, token: int) -> None:
        self._inner.accept(token)

    def reset(self) -> None:
        self._inner.reset()


def reference_text(
    subject: Subject,
    model: Context,
    prompt: Sequence[int],
    sampling: Sampling,
    *,
    most: int,
    kept: int,
) -> ReferenceText:
    """Let a model speak, at most so many tokens. kept: likely tokens of each row.

    Penalties must be off: they would count what was chosen, not what was said. Raises like a
    generation.
    """
    with closing(subject.sampler(prompt, sampling)) as chain:
        watching = _Watching(chain, kept)
        _run(subject, model, prompt, watching, most)
    return ReferenceText(
        prompt=prompt, sampling=sampling, tokens=watching.tokens, rows=watching.rows
    )


def forced_run(subject: Subject, model: Context, reference: ReferenceText) -> ForcedRun:
    """Ask another model at each token of that text. Raises like a generation."""
    with closing(subject.sampler(reference.prompt, reference.sampling)) as chain:
        forcing = _Forcing(chain, reference)
        _run(subject, model, reference.prompt, forcing, len(reference.tokens))
    return ForcedRun(
        agrees=forcing.agrees,
        divergences=forcing.divergences,
        margins=[row.margin for row in reference.rows],
    )


def _run(
    subject: Subject, model: Context, prompt: Sequence[int], sampler: Sampler, most: int
) -> None:
    """To the end token or so many tokens, in a cache of its own: nothing is shared by prompts."""
    cache = model.new_cache()
    try:
        job = Job(
            model=model, cache=cache, sampler=sampler, prompt=prompt,
            is_end=subject.tokenizer.is_end, clock=subject.clock, max_tokens=most,
        )  # fmt: skip
        for _ in plain_steps(job):
            pass
    finally:
        cache.close()
