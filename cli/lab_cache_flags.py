"""The flags of `nextok lab cache`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Switch
from nextok.cli.flags import Flag, flag
from nextok.cli.number_types import Number

_cache = partial(flag, panel="lab cache", commands=("lab",), ambient=False)

LAB_CACHE_FLAGS: tuple[Flag, ...] = (
    _cache(
        "cache_patience",
        "--patience",
        Number(low=0, high=1e6, above=True),
        "Seconds a reader waits for an answer.",
    ),
    _cache(
        "cache_cpu_time",
        "--cpu-time",
        Switch(),
        "With -t 1: count the processor's time, on a machine that is busy.",
    ),
)
