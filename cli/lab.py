"""`nextok lab`: experiments on the loop, with what they found."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.lab_experiments import ALL, EXPERIMENTS, Experiment, find_experiment

_COLUMNS = (Column(title="experiment", style="bold"), Column(title="what it shows", fold=True))
_FOOT = "nextok lab NAME runs one; nextok lab all -o FOLDER writes a page with all of them"


def lab(invocation: Invocation) -> int:
    """List the experiments, run one, or run all."""
    if not invocation.words:
        return _list(invocation)
    from nextok.cli.lab_command import check_flags
    from nextok.cli.lab_run import LabRun

    chosen = _chosen(invocation.words[0])
    if len(chosen) == 1:
        check_flags(chosen[0], invocation.resolved)
    return LabRun(invocation, chosen).run()


def _chosen(word: str) -> Sequence[Experiment]:
    return EXPERIMENTS if word == ALL else (find_experiment(word),)


def _list(invocation: Invocation) -> int:
    output = invocation.resolved.output
    if output.json:
        from nextok.cli.answer import json_text
        from nextok.cli.loaded_prompt import plain_stdout

        listed = [{"experiment": one.name, "title": one.title} for one in EXPERIMENTS]
        plain_stdout().line(json_text({"experiments": listed}))
        return ANSWERED
    print_columns(_COLUMNS, [(one.name, one.title) for one in EXPERIMENTS], output, foot=_FOOT)
    return ANSWERED
