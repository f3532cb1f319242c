"""The command that makes an experiment's findings again, as a shell takes it."""

from __future__ import annotations

import shlex

from nextok.cli.config import spelled
from nextok.cli.flag_table import flags_of
from nextok.cli.flags import Flag
from nextok.cli.lab_experiments import EXPERIMENTS, Experiment
from nextok.cli.lab_settings import LabSettings
from nextok.cli.resolution import BUILT_IN, GIVEN, Resolved
from nextok.generation.errors import UsageError

_SILENT = frozenset(
    ("lab_folder", "json", "color", "quiet", "verbose", "debug", "pull", "yes", "offline")
)
"""Settings that change nothing about what is found."""
_COMMON = ("lab_folder", "lab_full")
"""The settings of the lab that every experiment has."""


def command_line(experiment: Experiment, resolved: Resolved, model: str) -> str:
    """`nextok lab NAME` and what was set and matters to it, wherever it was set.

    model: what -m was; empty if no model was used.
    """
    words = ["nextok", "lab", experiment.name]
    if model:
        words += ["-m", model]
    for flag in flags_of("lab"):
        if resolved.origin(flag.key) == BUILT_IN:
            continue
        if flag.key not in _SILENT | {"model"} and concerns(flag.key, experiment):
            words += _words(flag, resolved.value(flag.key))
    return shlex.join(words)


def check_flags(experiment: Experiment, resolved: Resolved) -> None:
    """UsageError for a flag of another experiment, which this one would not listen to."""
    given = (flag for flag in flags_of("lab") if resolved.origin(flag.key) == GIVEN)
    for flag in given:
        if not concerns(flag.key, experiment):
            raise UsageError(f"`nextok lab {experiment.name}` has no use for {flag.names[0]}")


def concerns(key: str, experiment: Experiment) -> bool:
    """Whether an experiment listens to a setting: all do to those that are not the lab's own."""
    if key in (*_COMMON, *experiment.shares, *experiment.settings._fields):
        return True
    owned = {own for one in EXPERIMENTS for own in one.settings._fields}
    return key not in LabSettings._fields and key not in owned


def _words(flag: Flag, value: object) -> list[str]:
    """A flag as it is typed."""
    if flag.switch:
        return [flag.names[0] if value else flag.off[0]]
    plain = spelled(flag, value)
    texts = [str(one) for one in plain] if isinstance(plain, list) else [str(plain)]
    if not flag.repeatable:
        texts = [";".join(texts)]
    return [word for text in texts for word in (flag.names[0], text)]
