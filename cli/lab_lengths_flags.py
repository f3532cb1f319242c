"""The flags of `nextok lab lengths`."""

from __future__ import annotations

from nextok.cli.flags import Flag

LENGTHS_FLAGS: tuple[Flag, ...] = ()
