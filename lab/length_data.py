"""How long answers were: each length, whether the answer was cut off, and its prompt's length.

What others logged is refused unless it has a distribution: two lengths at least that differ.
Knows no distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from nextok.backends.journal_queries import LoggedAnswer
from nextok.backends.journal_statistics import ABORTED
from nextok.backends.shown_text import shown
from nextok.generation.errors import UsageError
from nextok.generation.finish import FinishReason

CUT = frozenset((FinishReason.LENGTH, FinishReason.CONTEXT, *ABORTED))
"""Endings from outside: the model would have gone on."""


class Answer(NamedTuple):
    """One answer."""

    tokens: int
    cut: bool = False
    """Whether something but the model ended it: else it would have been as long or longer."""
    prompt_tokens: int | None = None
    line: int | None = None
    """Where it stands in its file, from 1."""


@dataclass(frozen=True, kw_only=True)
class LengthData:
    """The answers of one workload: one at least."""

    source: str
    """What a person calls it; of a file, its path."""
    answers: tuple[Answer, ...]
    column: str | None = None
    """The name of the lengths' column, for a file."""
    failed: int = 0
    """Answers that are left out because they ended in an error."""

    @property
    def name(self) -> str:
        """Its source, of a file without the folder."""
        return shown(PurePath(self.source).name if self.column else self.source, 60)

    @property
    def tokens(self) -> list[int]:
        """The lengths alone."""
        return [one.tokens for one in self.answers]

    @property
    def differs(self) -> bool:
        """Whether there are two lengths that differ: else no distribution can be told."""
        return len(set(self.tokens)) > 1


def of_journal(logged: Sequence[LoggedAnswer]) -> LengthData:
    """The answers of nextok's own journal. UsageError as `checked` raises it."""
    ended = [one for one in logged if one.finish != FinishReason.ERROR]
    answers = tuple(
        Answer(one.completion_tokens, one.finish in CUT, one.prompt_tokens) for one in ended
    )
    failed = len(logged) - len(ended)
    return checked(LengthData(source="the journal", answers=answers, failed=failed))


def checked(data: LengthData) -> LengthData:
    """The same data. UsageError unless there are two lengths that differ."""
    where = shown(data.source)
    if not data.answers:
        raise UsageError(f"{where} has no answer: a distribution has two at least")
    first, last = data.answers[0], data.answers[-1]
    if len(data.answers) == 1:
        line = "" if first.line is None else f" (line {first.line})"
        raise UsageError(f"{where} has one answer{line}: a distribution has two at least")
    if len(set(data.tokens)) == 1:
        lines = "" if first.line is None else f" (lines {first.line} to {last.line})"
        raise UsageError(
            f"{where}: all {len(data.answers):,} lengths are {first.tokens}{lines}, "
            "which is no distribution: was every answer cut at one cap?"
        )
    return data
