"""The flags of `nextok lab divergence`."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Text
from nextok.cli.flags import Flag, flag

_divergence = partial(flag, panel="lab divergence", commands=("lab",), ambient=False)

DIVERGENCE_FLAGS: tuple[Flag, ...] = (
    _divergence(
        "divergence_against", "--against", Text(empty=False),
        "Another model to hold against this one; named as for -m.",
    ),
    _divergence(
        "divergence_quantize", "--quantize", Text(empty=False),
        "Types to make of the model, with commas between them. [Q4_0,Q2_K]",
    ),
)  # fmt: skip
