"""The flags of `nextok lab loop`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Switch
from nextok.cli.flags import Flag, flag
from nextok.cli.number_types import Number

_loop = partial(flag, panel="lab loop", commands=("lab",), ambient=False)

LOOP_FLAGS: tuple[Flag, ...] = (
    _loop(
        "loop_at",
        "--at",
        Number(low=0, high=2**31 - 1, whole=True),
        "Index of a token to look at closely; repeatable. [a few]",
        repeatable=True,
    ),
    _loop(
        "loop_draws",
        "--draws",
        Number(low=100, high=10_000_000, whole=True),
        "How often both samplers draw at one position, to be compared.",
    ),
    _loop("loop_explain", "--explain", Switch(), "Walk through it token by token."),
)
