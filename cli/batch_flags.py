"""The flags of `nextok batch`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Path, Switch
from nextok.cli.flags import Flag, flag
from nextok.cli.number_types import Number

MOST_PARALLEL = 128

_batch = partial(flag, panel="Batch", commands=("batch",))

BATCH_FLAGS: tuple[Flag, ...] = (
    _batch(
        "parallel",
        "-np --parallel",
        Number(low=1, high=MOST_PARALLEL, whole=True, words={"auto": None}),
        "Prompts under way at once. [8 at most, as memory allows]",
    ),
    _batch("ordered", "--ordered", Switch(), "Results in the order of the lines."),
    _batch("strict", "--strict", Switch(), "Begin nothing if a line is bad."),
    _batch(
        "results",
        "--resume",
        Path(expected="the path of a file of results"),
        "Add to these results what is missing in them; they may not exist yet.",
        ambient=False,
    ),
    _batch(
        "row_template",
        "--template",
        Path(expected="the path of a template"),
        "Make each prompt of a row of CSV or JSON with this jinja template.",
        ambient=False,
    ),
)
