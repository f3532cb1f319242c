"""The flags of `nextok plot`."""

from __future__ import annotations

from nextok.cli.flag_types import Path
from nextok.cli.flags import Flag, flag

PLOT_FLAGS: tuple[Flag, ...] = (
    flag(
        "picture",
        "-o --output",
        Path(expected="the path of a .png or .svg file"),
        "Draw a picture into this .png or .svg file.",
        ("plot",),
        panel="Picture",
        ambient=False,
    ),
)
