"""The flags of `nextok lab divergence`."""

from __future__ import annotations

from nextok.cli.flags import Flag

DIVERGENCE_FLAGS: tuple[Flag, ...] = ()
