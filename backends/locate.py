"""From what the user calls a model to what can be opened.

Asks no network, and imports what knows the hub's cache only for a name that may be in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nextok.backends.shown_text import shown
from nextok.backends.starter_model import STARTER_PACKAGE, find_starter, starter
from nextok.generation.errors import HubError, ModelError, UsageError

if TYPE_CHECKING:
    from nextok.backends.hub_reference import HubReference
    from nextok.backends.local_models import LocalModel

__all__ = [
    "STARTER_PACKAGE",
    "TOY",
    "Located",
    "NotOnDisk",
    "find_starter",
    "locate",
    "look_up",
    "starter",
]

TOY = "toy"
_MOST_NAMED = 12


class Located(NamedTuple):
    """The model that a name means."""

    path: Path | None
    """None stands for the toy."""
    guessed: str | None = None
    """The whole name, when only a part of it was given: to be told to the user."""


class NotOnDisk(HubError):
    """A model of the hub that has to be fetched first; the message says with which command.

    meant: names here that it may be a slip for.
    """

    def __init__(self, reference: HubReference, meant: Sequence[str] = ()) -> None:
        from nextok.backends.local_models import did_you_mean

        self.reference = reference
        self.question = did_you_mean(meant)
        otherwise = f"{self.question} Otherwise fetch" if meant else "fetch"
        command = f"nextok pull {reference}"
        super().__init__(f"{reference} is not on disk: {otherwise} it with: {command}")


def locate(reference: str | None, aliases: Mapping[str, str]) -> Path | None:
    """The model's file; None stands for the toy. See `look_up`."""
    return look_up(reference, aliases).path


def look_up(reference: str | None, aliases: Mapping[str, str]) -> Located:
    """The model that a name means: a .gguf file that exists, the toy, an alias, a model of the
    hub that is on disk, a part of the name of one model here; in this order.

    Raises NotOnDisk for a model of the hub that is not, UsageError when several may be meant, and
    ModelError when there is none.
    """
    if reference is None:
        return Located(path=starter())
    if reference != TOY and not _is_gguf_file(reference):
        reference = aliases.get(reference, reference)
    if reference == TOY:
        return Located(path=None)
    path = Path(os.path.expanduser(reference))
    if _looks_like_path(reference) or _is_gguf_file(reference):
        return Located(path=path)
    on_hub = _of_hub(reference)
    if on_hub is not None:
        return on_hub
    if os.path.lexists(path) or reference.lower().endswith(".gguf"):
        return Located(path=path)  # the file check has the words for all that may be wrong with it
    return _by_part(reference, aliases)


def _of_hub(name: str) -> Located | None:
    """None when the name has none of the hub's forms."""
    if "/" not in name:
        return None
    from nextok.backends.cached_models import find_cached  # most runs need no more of the cache
    from nextok.backends.hub_layout import Layout, cache_root
    from nextok.backends.hub_reference import parse_reference
    from nextok.backends.memory import available_bytes

    found = parse_reference(name)
    if found is None:
        return None
    path = find_cached(Layout(cache_root()), found, available_bytes())
    if path is not None:
        return Located(path=path)
    from nextok.backends.local_models import local_models, misspelt

    models = local_models()
    same = [model for model in models if model.name == name]  # as another tool calls it
    if not same:
        raise NotOnDisk(found, misspelt(str(found), models))
    return Located(path=same[0].path)


def _by_part(name: str, aliases: Mapping[str, str]) -> Located:
    from nextok.backends.local_models import local_models, match

    models = local_models()
    found = match(name, models)
    if len(found) > 1:
        names = ", ".join(shown(model.name) for model in found[:6])
        more = f" and {len(found) - 6} more" if len(found) > 6 else ""
        raise UsageError(f"{shown(name)!r} may be any of {names}{more}: name one of them whole")
    if not found and len(name.strip()) < 2:
        raise UsageError(f"{shown(name)!r} is no model: name a model or a .gguf file")
    if not found:
        raise ModelError(_unknown(name, aliases, models))
    exact = found[0].name.lower() == name.lower()
    return Located(path=found[0].path, guessed=None if exact else found[0].name)


def _unknown(name: str, aliases: Mapping[str, str], models: list[LocalModel]) -> str:
    from nextok.backends.local_models import did_you_mean, nearest

    near = did_you_mean(nearest(name, models, [TOY, *aliases]))
    at_hand = list(dict.fromkeys([TOY, *sorted(aliases), *(model.name for model in models)]))
    known = ", ".join(shown(one) for one in at_hand[:_MOST_NAMED])
    if len(at_hand) > _MOST_NAMED:
        known += f" and {len(at_hand) - _MOST_NAMED} more (nextok ls)"
    return (
        f"no model is called {shown(name)!r}: {near + ' Otherwise give' if near else 'give'}"
        f" the path of a .gguf file, a model of the hub (OWNER/NAME), or one of: {known}"
    )


def _is_gguf_file(name: str) -> bool:
    return name.lower().endswith(".gguf") and os.path.exists(os.path.expanduser(name))


def _looks_like_path(name: str) -> bool:
    return name.startswith(("./", "../", "/", "~"))
