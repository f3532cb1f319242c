"""`nextok lab`: experiments on the loop, with what they found."""

from __future__ import annotations

from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.lab_experiments import EXPERIMENTS

_COLUMNS = (Column(title="experiment", style="bold"), Column(title="what it shows", fold=True))


def lab(invocation: Invocation) -> int:
    """List the experiments, run one, or run all."""
    rows = [(one.name, one.title) for one in EXPERIMENTS]
    print_columns(_COLUMNS, rows, invocation.resolved.output)
    return ANSWERED
