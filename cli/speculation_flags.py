"""The flags that let a model say several tokens in one step."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Path, Switch
from nextok.cli.flags import ANSWERING, Flag, flag

_speculation = partial(flag, panel="Speculation", commands=ANSWERING)

SPECULATION_FLAGS: tuple[Flag, ...] = (
    _speculation(
        "lookup",
        "--lookup",
        Switch(),
        "Guess ahead what was said before in the same words: fast where text is copied.",
    ),
    _speculation(
        "draft",
        "--draft",
        Path(metavar="MODEL", expected="a model: a .gguf file, an alias or a name"),
        "Let this smaller model of the same family guess ahead.",
    ),
)
