"""The flags of `nextok lab abandonment`."""

from __future__ import annotations

from nextok.cli.flags import Flag

ABANDONMENT_FLAGS: tuple[Flag, ...] = ()
