"""What an experiment found: its data, what they mean in three sentences, and what to draw.

Values only: knows no files, no terminal and no experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nextok.lab.chart import Chart

TIMES = "times"
"""The key of `data` under which stands everything that a clock has a say in."""
COMPLETE = "complete"
"""The key of `data` that says whether the experiment came to its end."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The outcome of one run of one experiment.

    `data` is what JSON can hold. The same command gives the same data to the byte, but for what
    stands under its key `times`: nothing that depends on a clock stands anywhere else.
    """

    experiment: str
    """Its name, as `nextok lab NAME` has it."""
    title: str
    model: str
    """What a person calls the model; empty if none was used."""
    data: Mapping[str, object]
    sentences: tuple[str, ...]
    """Three, computed from the data; fewer if it was cut short."""
    timed: bool = False
    """Whether the sentences quote times: in JSON they stand among those."""
    charts: tuple[Chart, ...] = ()
    command: str = ""
    """The command that makes it again; filled in by who ran it."""

    @property
    def complete(self) -> bool:
        """Whether nothing cut it short."""
        return self.data.get(COMPLETE) is not False
