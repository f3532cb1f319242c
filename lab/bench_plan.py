"""What a benchmark measures, of whom, and in which order. Values only: it measures nothing.

Rounds go through everything once, and who is compared stands side by side in them, so that all
see the same weather; every other round goes the other way, so that none of them is always first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import NamedTuple

SHORT_PROMPT = 128
"""Tokens of the prompt that is answered, where no prefill is measured."""


class Kind(Enum):
    """What is timed."""

    PREFILL = "prefill"
    """Reading tokens into an empty cache, a batch at a time, with logits after the last one."""
    DECODE = "decode"
    """One token after the other, each with its logits; nothing is sampled."""
    ANSWER = "answer"
    """A whole generation: the loop, its sampler, its text and its events."""
    BARE = "bare"
    """The same tokens by nothing but the sampler and the model in turn."""


class Measure(NamedTuple):
    """One thing that is timed."""

    kind: Kind
    depth: int
    """Tokens that the cache holds before."""
    tokens: int
    """Tokens that are computed."""


class Subject(NamedTuple):
    """Who is measured."""

    model: int
    """Its place among the models."""
    threads: int


class Step(NamedTuple):
    """One measurement."""

    round: int
    measure: Measure
    subject: Subject


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All of it. Sizes in tokens."""

    prefill: tuple[int, ...] = (128, 512, 2048)
    depths: tuple[int, ...] = (0, 2048)
    tokens: int = 64
    """Decoded at each depth, and said in each answer: two or more."""
    rounds: int = 5
    threads: tuple[int, ...] = (1,)
    models: int = 1

    @property
    def prompt_tokens(self) -> int:
        """Of the prompt that is answered."""
        return min(self.prefill, default=SHORT_PROMPT)

    @property
    def context_size(self) -> int:
        """As much as the largest of the measures needs."""
        deepest = max((0, *self.depths, self.prompt_tokens)) + self.tokens
        return max(deepest, *self.prefill, 1)

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """For each thread count one model after the other."""
        pairs = product(self.threads, range(self.models))
        return tuple(Subject(model, threads) for threads, model in pairs)

    @property
    def passes(self) -> tuple[Measure, ...]:
        """What is measured of the engine alone.

        By size: what a prefill has left in the cache is the depth of the next decode.
        """
        reads = [Measure(Kind.PREFILL, 0, tokens) for tokens in self.prefill]
        writes = [Measure(Kind.DECODE, depth, self.tokens) for depth in self.depths]
        return tuple(sorted([*reads, *writes], key=_reach))

    @property
    def loops(self) -> tuple[Measure, Measure]:
        """What is measured of the loop, and what of the same without it."""
        prompt = self.prompt_tokens
        return (
            Measure(Kind.ANSWER, prompt, self.tokens),
            Measure(Kind.BARE, prompt, self.tokens),
        )

    def without(self, most: int) -> Plan:
        """The same without what needs more context than that, as far as it can be left out."""
        return replace(
            self,
            prefill=tuple(tokens for tokens in self.prefill if tokens <= most),
            depths=tuple(depth for depth in self.depths if depth + self.tokens <= most),
        )

    def steps(self) -> Iterator[Step]:
        """All measurements in their order."""
        for number in range(self.rounds):
            onward = 1 if number % 2 == 0 else -1
            for measure, subject in product(self.passes, self.subjects[::onward]):
                yield Step(number, measure, subject)
            for subject, measure in product(self.subjects[::onward], self.loops[::onward]):
                yield Step(number, measure, subject)


def _reach(measure: Measure) -> tuple[int, bool]:
    """The cache's length when the clock stops or starts, the prefill first."""
    is_decode = measure.kind is Kind.DECODE
    return measure.depth if is_decode else measure.tokens, is_decode
