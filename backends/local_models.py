"""The models already on this machine, whoever brought them, used where they are.

Promises to move and change nothing: names, sizes and times come from the file system and from the
other tools' own lists.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nextok.backends.cached_models import last_used
from nextok.backends.foreign_models import ForeignModel, lm_studio_models, ollama_models
from nextok.backends.hub_cache import HubCache
from nextok.backends.quant_names import quant_of
from nextok.backends.shown_text import shown
from nextok.backends.starter_model import find_starter

Origin = Literal["hub", "ollama", "lm studio", "starter"]

_SHORTEST_PART = 3
_WORD = re.compile(r"[^\s/:@_-]+")
_MOST_NEAR = 3
_LIKE, _VERY_LIKE = 0.5, 0.85
"""Shares of letters in common: of names that may be meant, and of one misspelt."""


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
    models = [*_hub(cache or HubCache()), *_starter()]
    models += [_foreign(model, "ollama") for model in ollama_models()]
    models += [_foreign(model, "lm studio") for model in lm_studio_models()]
    return sorted(models, key=lambda model: (model.name.lower(), model.name))


def match(name: str, models: Sequence[LocalModel]) -> list[LocalModel]:
    """Those that the name means, in any case: equal, else containing it, else all its words.

    Less than three characters count only as a word of the name (`1b`, `q8`). A model with two
    names (a tag of Ollama's) is there once.
    """
    wanted = name.strip().lower()
    if not wanted:
        return []
    words = _WORD.findall(wanted)
    tests = (
        lambda one: one == wanted,
        lambda one: one in (f"{wanted}:latest", f"{wanted}.gguf"),
        lambda one: _has(one, wanted),
        lambda one: bool(words) and all(_has(one, word) for word in words),
    )
    for test in tests:
        found = {model.path: model for model in reversed(models) if test(model.name.lower())}
        if found:
            return list(reversed(found.values()))
    return []


def _has(name: str, part: str) -> bool:
    return part in (name if len(part) >= _SHORTEST_PART else _WORD.findall(name))


def nearest(name: str, models: Sequence[LocalModel], aliases: Iterable[str] = ()) -> list[str]:
    """The names and aliases most like it, for an error message."""
    names = {alias.lower(): alias for alias in aliases}
    beginnings: dict[str, str] = {}
    for model in models:
        for part in (model.name, model.name.rpartition("/")[2], _bare(model.name)):
            names.setdefault(part.lower(), model.name)
        for part in _beginnings(_bare(model.name)):
            beginnings.setdefault(part.lower(), model.name)
    return _alike([name], names, _LIKE) or _alike([name], beginnings, _VERY_LIKE)


def misspelt(name: str, models: Sequence[LocalModel]) -> list[str]:
    """The models here of repositories that are spelled nearly like the hub's one in the name.

    A model of the hub that is not here may well be meant: what is merely like it is no answer.
    """
    names: dict[str, str] = {}
    for model in models:
        for part in (model.name, _repo(model.name)):
            names.setdefault(part.lower(), model.name)
    return _alike([name, _repo(name)], names, _VERY_LIKE)


def did_you_mean(names: Sequence[str]) -> str:
    """The question for an error message; empty without a name."""
    *others, last = map(shown, names or [""])
    meant = f"{', '.join(others)} or {last}" if others else last
    return f"did you mean {meant}?" if meant else ""


def _alike(wanted: Sequence[str], names: dict[str, str], cutoff: float) -> list[str]:
    """Of names in lower case the best, as they are written."""
    near = [
        names[one]
        for word in wanted
        for one in difflib.get_close_matches(word.lower(), names, n=3 * _MOST_NEAR, cutoff=cutoff)
    ]
    return list(dict.fromkeys(near))[:_MOST_NEAR]


def _beginnings(name: str) -> Iterator[str]:
    """Of its words, how it may be called for short: Qwen3, Qwen3-4B, ... of Qwen3-4B-Q4_K_M."""
    return (name[: match.start()] for match in re.finditer(r"[-._]", name) if match.start() > 2)


def _repo(name: str) -> str:
    """OWNER/NAME alone."""
    return "/".join(name.partition(":")[0].partition("@")[0].split("/")[:2])


def _bare(name: str) -> str:
    """The last part of the name without its tag."""
    return name.rpartition("/")[2].partition(":")[0]


def _hub(cache: HubCache) -> Iterator[LocalModel]:
    for model in cache.models():
        yield LocalModel(
            name=model.reference,
            path=model.path,
            quant=model.quant,
            bytes=model.bytes,
            origin="hub",
            last_used=model.last_used,
        )


def _starter() -> Iterator[LocalModel]:
    path = find_starter()
    if path is not None:
        yield LocalModel(
            name=path.stem,
            path=path,
            quant=quant_of(path.name),
            bytes=path.stat().st_size,
            origin="starter",
            last_used=last_used(path),
        )


def _foreign(model: ForeignModel, origin: Origin) -> LocalModel:
    return LocalModel(
        name=model.name,
        path=model.path,
        quant=model.quant,
        bytes=model.bytes,
        origin=origin,
        last_used=last_used(model.path),
    )
