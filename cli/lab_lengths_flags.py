"""The flags of `nextok lab lengths`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Path, Switch, Text, one_of
from nextok.cli.flags import Flag, flag
from nextok.cli.number_types import Number

_lengths = partial(flag, panel="lab lengths", commands=("lab",), ambient=False)

LENGTHS_FLAGS: tuple[Flag, ...] = (
    _lengths(
        "lengths_log", "--log", Path(), "Lengths from a CSV or JSONL file. [fresh answers]"
    ),
    _lengths(
        "lengths_journal", "--journal", Switch(),
        "Lengths from nextok's journal; -m chooses a model's.",
    ),
    _lengths(
        "lengths_column", "--column", Text(empty=False),
        "The column of the lengths. [found by its name]",
    ),
    _lengths(
        "lengths_other", "--other-log", Path(), "Another workload's log: what it costs beside this."
    ),
    _lengths(
        "lengths_cap", "--cap", Number(low=0, high=10_000_000, whole=True),
        "No answer was allowed more tokens; 0: there was no cap. [found in the data]",
    ),
    _lengths(
        "lengths_over", "--over-cap", one_of("cut", "missing"),
        "What became of longer answers: cut at --cap, or not in the log.",
    ),
)  # fmt: skip
