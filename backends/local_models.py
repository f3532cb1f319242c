"""The models already on this machine, whoever brought them, used where they are.

Promises to move, change and open nothing: names, sizes and times come from the file system and
from the other tools' own lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nextok.backends.hub_cache import HubCache

Origin = Literal["hub", "ollama", "lm studio", "starter"]


@dataclass(frozen=True, kw_only=True)
class LocalModel:
    """One model that can be run now."""

    name: str
    """What finds it again with -m."""
    path: Path
    quant: str | None
    bytes: int
    origin: Origin
    last_used: float | None
    """Seconds since 1970, as far as the file system tells."""


def local_models(cache: HubCache | None = None) -> list[LocalModel]:
    """All of them, by name. Never raises for what cannot be read."""
    raise NotImplementedError


def match(name: str, models: Sequence[LocalModel]) -> list[LocalModel]:
    """Those that the name means: equal, else holding all its words, in any case."""
    raise NotImplementedError


def nearest(name: str, models: Sequence[LocalModel], count: int = 3) -> list[str]:
    """The names most like it, for an error message."""
    raise NotImplementedError
