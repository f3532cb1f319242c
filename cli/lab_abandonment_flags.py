"""The flags of `nextok lab abandonment`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Path, one_of
from nextok.cli.flags import Flag, flag
from nextok.cli.number_types import Number

_abandonment = partial(flag, panel="lab abandonment", commands=("lab",), ambient=False)

ABANDONMENT_FLAGS: tuple[Flag, ...] = (
    _abandonment(
        "abandonment_workload", "--workload", Path(),
        "Recorded requests, a CSV or JSONL file. [lengths as in a chat service]",
    ),
    _abandonment(
        "abandonment_arrivals", "--arrivals", one_of("poisson", "recorded"),
        "When requests come. [recorded with --workload, else poisson]",
    ),
    _abandonment(
        "abandonment_share", "--abandoned", Number(low=0, high=1),
        "Share of the requests whose reader goes away.",
    ),
    _abandonment(
        "abandonment_slots", "--slots", Number(low=1, high=64, whole=True),
        "Requests that can be served at once.",
    ),
    _abandonment(
        "abandonment_load", "--load", Number(low=0, high=10, above=True),
        "How busy the slots are if every answer is made to its end.",
    ),
    _abandonment(
        "abandonment_rate", "--rate", Number(low=0, high=1e6, above=True),
        "Requests a second. [as many as make the load]",
    ),
    _abandonment(
        "abandonment_generations", "--generations", Number(low=0, high=1000, whole=True),
        "Real generations whose reader leaves. [12, with --full 50]",
    ),
)  # fmt: skip
