"""What to write down for a model so that the same one is found again, from any folder."""

from __future__ import annotations

import os
from pathlib import Path

from nextok.backends.hub_reference import parse_reference
from nextok.backends.local_models import LocalModel, local_models, match, nearest
from nextok.backends.locate import TOY
from nextok.backends.model_folder import missing_file
from nextok.cli.console import one_line
from nextok.generation.errors import ModelError, UsageError

_MOST_NAMES = 6


def lasting(reference: str) -> str:
    """The name of a model as a config file may hold it. Raises UsageError and ModelError."""
    if reference == TOY:
        return TOY
    path = os.path.expanduser(reference)
    if os.path.isfile(path):
        return os.path.abspath(path)
    hub = parse_reference(reference)
    if hub is not None:
        return str(hub)
    if reference.lower().endswith(".gguf") or reference.startswith(("./", "../", "/", "~")):
        raise UsageError(missing_file(Path(path)))
    return local(reference).name


def local(name: str) -> LocalModel:
    """The one model on this machine that a name or a part of one means.

    Raises UsageError when it may be several, ModelError when it is none.
    """
    models = local_models()
    found = match(name, models)
    if len(found) == 1:
        return found[0]
    if found:
        more = ", …" if len(found) > _MOST_NAMES else ""
        names = ", ".join(one_line(model.name) for model in found[:_MOST_NAMES])
        raise UsageError(f"{one_line(name)!r} may be any of these: {names}{more}: name one whole")
    if len(name.strip()) < 2:
        raise UsageError(f"{one_line(name)!r} is no model: name a model or a .gguf file")
    near = ", ".join(map(one_line, nearest(name, models)))
    hint = f": the nearest are {near}" if near else ": nextok ls lists what is here"
    raise ModelError(f"no model here is called {one_line(name)!r}{hint}")
