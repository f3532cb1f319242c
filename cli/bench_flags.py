"""The flags of `nextok bench`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Switch
from nextok.cli.flags import Flag, flag
from nextok.cli.number_types import Number, Numbers

_LONGEST = 2**20

_bench = partial(flag, panel="Benchmark", commands=("bench",), ambient=False)

BENCH_FLAGS: tuple[Flag, ...] = (
    _bench("compare", "--compare", Switch(), "Two models, A and B, side by side."),
    _bench(
        "thread_counts",
        "-t --threads",
        Numbers(low=1, high=1024, words={"auto": ()}),
        "Thread counts, such as 1,2,4. [1 and the usual count]",
    ),
    _bench(
        "prefill_sizes",
        "--prefill",
        Numbers(low=1, high=_LONGEST, words={"none": ()}),
        "Tokens to read, or none. [128,512,2048]",
    ),
    _bench(
        "depths",
        "--depth",
        Numbers(low=0, high=_LONGEST, words={"none": ()}),
        "Tokens in the cache where a decode begins, or none. [0,2048]",
    ),
    _bench(
        "decode_tokens",
        "--tokens",
        Number(low=2, high=_LONGEST, whole=True),
        "Tokens to decode at each depth, and in each answer.",
    ),
    _bench("rounds", "--runs", Number(low=1, high=1000, whole=True), "Times to measure all of it."),
)
