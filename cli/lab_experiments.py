"""The experiments of `nextok lab` by name. Imports none of them.

To add one: a group of settings in `nextok.cli.lab_settings` (listed in GROUPS of
`nextok.cli.flags`), its flags in `lab_NAME_flags.py` (listed in `nextok.cli.lab_flags`), a module
`lab_NAME.py` with `def run(bench: Bench) -> Findings` that makes options of the settings, and a
row here.
"""

from __future__ import annotations

from typing import NamedTuple

from nextok.cli.lab_settings import (
    AbandonmentSettings,
    CacheLabSettings,
    DivergenceSettings,
    LengthsSettings,
    LoopSettings,
)
from nextok.cli.spelling import hint
from nextok.generation.errors import UsageError

ALL = "all"
"""The word that means every one of them."""


class Experiment(NamedTuple):
    """One row of the table."""

    name: str
    title: str
    """What it shows, in a line."""
    settings: type[NamedTuple]
    """The group of its own settings: their flags are refused with other experiments."""
    shares: tuple[str, ...] = ()
    """The keys of LabSettings it listens to, beside `lab_folder` and `lab_full`."""

    @property
    def module(self) -> str:
        """Where its function `run` is."""
        return f"nextok.cli.lab_{self.name}"


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="loop",
        title="The loop taken apart: what each sampling step does to the distribution.",
        settings=LoopSettings,
        shares=("lab_tokens", "lab_prompt"),
    ),
    Experiment(
        name="cache",
        title="Why the KV cache matters: with it, and reading everything again for each token.",
        settings=CacheLabSettings,
        shares=("lab_tokens", "lab_prompt"),
    ),
    Experiment(
        name="divergence",
        title="How errors accumulate: quantised variants held against a reference, token by token.",
        settings=DivergenceSettings,
        shares=("lab_tokens", "lab_prompts"),
    ),
    Experiment(
        name="abandonment",
        title="What ignoring the reader costs: simulated slots, and real readers who leave.",
        settings=AbandonmentSettings,
        shares=("lab_tokens", "lab_prompts"),
    ),
    Experiment(
        name="lengths",
        title="How long answers are: which distribution that is, and what it costs.",
        settings=LengthsSettings,
        shares=("lab_tokens", "lab_prompts"),
    ),
)


def names() -> list[str]:
    """What may stand after `nextok lab`."""
    return [*(one.name for one in EXPERIMENTS), ALL]


def find_experiment(name: str) -> Experiment:
    """The experiment of that name. UsageError names the one that may be meant."""
    found = next((one for one in EXPERIMENTS if one.name == name), None)
    if found is None:
        known = f": there are {', '.join(names())}"
        raise UsageError(f"there is no experiment {name}{hint(name, names()) or known}")
    return found
