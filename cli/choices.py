"""The models of a repository that a name may mean, as a table above the error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nextok.backends.quant_choice import Ambiguous, Candidate
from nextok.cli.columns import Column, print_columns
from nextok.cli.settings import OutputSettings
from nextok.cli.units import size
from nextok.generation.errors import UsageError

_COLUMNS = (
    Column(title="quant", style="bold"),
    Column(title="size", right=True),
    Column(title="fits this machine"),
    Column(title="file", style="dim", fold=True),
)
_FITS = {True: "yes", False: "no", None: "unknown"}


def print_choices(error: UsageError, output: OutputSettings) -> None:
    """Print them on standard error, if the error is about a choice."""
    if isinstance(error, Ambiguous) and error.candidates:
        print_columns(_COLUMNS, _rows(error.candidates), output, stream=sys.stderr)


def _rows(candidates: Sequence[Candidate]) -> list[list[str]]:
    return [[one.quant or "-", size(one.bytes), _FITS[one.fits], _file(one)] for one in candidates]


def _file(candidate: Candidate) -> str:
    count = len(candidate.parts)
    return f"{candidate.name} and {count - 1} more" if count > 1 else candidate.name
