"""The flags that make a token's time visible while it is made."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Switch
from nextok.cli.flags import GENERATION, Flag, flag

_output = partial(flag, panel="Output", commands=GENERATION)

LATENCY_FLAGS: tuple[Flag, ...] = (
    _output(
        "latency",
        "--latency",
        Switch(),
        "Show each token's time below the text; at the end what the process's time went to: "
        "start + load + queue + prefill + first token + decode + rendering.",
    ),
    _output("latency_color", "--latency-color", Switch(), "Tint the text by each token's time."),
)
