"""Which model files a folder holds: for the messages about a path that is none itself."""

from __future__ import annotations

import difflib
import os
from itertools import islice
from pathlib import Path

from nextok.backends.shown_text import shown
from nextok.backends.split_files import part_number, part_paths

_MOST_ENTRIES = 10_000
_MOST_NAMES = 4


def gguf_names(folder: Path) -> list[str]:
    """The names of the .gguf files in it, sorted, of split models the first part only.

    Empty when it cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES)]
    except OSError:
        return []
    models = (name for name in names if name.lower().endswith(".gguf"))
    return sorted(name for name in models if (part_number(Path(name)) or (1, 1))[0] == 1)


def missing_file(path: Path) -> str:
    """What to say about a path where nothing is."""
    folder = path.parent
    if path.is_symlink():
        target = shown(os.readlink(path))
        return f"{shown(path)}: a link to nowhere ({target}): the file is gone, or the link wrong"
    if not folder.is_dir():
        return f"{shown(path)}: no such file, nor a folder {shown(folder)}: check the path"
    if part_number(path) and any(part.exists() for part in part_paths(path)):
        return f"{shown(path)}: this part of the model is missing: put it beside the others"
    names = gguf_names(folder)
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.5)
    if near:
        return f"{shown(path)}: no such file: did you mean {shown(folder / near[0])}?"
    return f"{shown(path)}: no such file: {_models(folder, names)}"


def named_folder(path: Path) -> str:
    """What to say about a folder where a file is wanted."""
    return f"{shown(path)}: a folder, not a model file: {_models(path, gguf_names(path))}"


def _models(folder: Path, names: list[str]) -> str:
    if not names:
        return f"no .gguf file is in {shown(folder)}"
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"name one in {shown(folder)}: {', '.join(map(shown, names[:_MOST_NAMES]))}{more}"
