"""Two generations of the same text, with the KV cache and without it: their times held together.

Values only: knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nextok.lab.findings import TIMES
from nextok.lab.line_fit import Line, fit_line


@dataclass(frozen=True, kw_only=True)
class Timed:
    """One of the two generations."""

    tokens: Sequence[int]
    seconds: Sequence[float]
    """Of each of them; of the first one with the reading of the prompt."""

    @property
    def indexes(self) -> range:
        """Of the tokens that have one before them."""
        return range(1, len(self.seconds))

    @property
    def line(self) -> Line | None:
        """The time of a token by its index, the first one left out."""
        return fit_line(list(self.indexes), self.seconds[1:])

    @property
    def totals(self) -> list[float]:
        """Seconds from the start until each token."""
        total, found = 0.0, []
        for one in self.seconds:
            total += one
            found.append(total)
        return found

    def read_in(self, seconds: float) -> float | None:
        """Tokens that have come by then: seen, or as the line says; None without one."""
        totals, line = self.totals, self.line
        if totals and totals[-1] >= seconds:
            return float(sum(total <= seconds for total in totals))
        if line is None:
            return None
        if line.slope < 0:  # noise: no token gets cheaper by those before it
            line = Line(intercept=line.at(len(totals) / 2), slope=0.0)
        return 1 + line.reaches(seconds, start=totals[0])

    @property
    def doubling(self) -> float | None:
        """How many times as long all tokens take as the first half, by the line: the prompt, and
        what else the machine did meanwhile, left out."""
        line, half = self.line, len(self.seconds) // 2
        if line is None or line.area(half) <= 0:
            return None
        return line.area(2 * half) / line.area(half)

    def as_data(self, patience_seconds: float) -> Mapping[str, object]:
        """What a clock has a say in."""
        line = self.line
        return {
            "latency_ms": [round(1000 * one, 3) for one in self.seconds],
            "total_s": round(sum(self.seconds), 4),
            "fit_ms": None if line is None else round(1000 * line.intercept, 4),
            "fit_ms_per_token": None if line is None else round(1000 * line.slope, 6),
            "doubling": self.doubling,
            "tokens_in_patience": self.read_in(patience_seconds),
        }


@dataclass(frozen=True, kw_only=True)
class CacheComparison:
    """Both, and what they have in common."""

    cached: Timed
    again: Timed
    """The one that reads everything again for each token."""
    wanted: int
    """Tokens."""
    prompt_tokens: int
    patience_seconds: float
    margin: float | None
    """Between the logits of the two tokens where the outputs part."""
    settings: str
    """How the model was run."""

    @property
    def whole(self) -> bool:
        """Whether both came to their end."""
        return min(len(self.cached.tokens), len(self.again.tokens)) == self.wanted

    @property
    def differs(self) -> int | None:
        """The index of the first token that is not the same in both."""
        return first_difference(self.cached.tokens, self.again.tokens)

    def as_data(self) -> Mapping[str, object]:
        """As JSON can hold it."""
        wait = self.patience_seconds
        return {
            "settings": self.settings,
            "prompt_tokens": self.prompt_tokens,
            "tokens": len(self.again.tokens),
            "patience_s": wait,
            "same_output": self.whole and self.differs is None,
            "first_difference": self.differs,
            "difference_margin_logits": self.margin,
            TIMES: {
                "cache": self.cached.as_data(wait), "recomputing": self.again.as_data(wait),
            },
        }  # fmt: skip


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Where two texts part, as far as both go."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), None)
