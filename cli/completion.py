"""What a shell may complete where a flag wants a value: models, and words of a closed set."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nextok.cli.config_file import config_path, read_config
from nextok.cli.flag_types import Choice
from nextok.cli.flags import Flag
from nextok.generation.errors import UsageError

TOY = "toy"


def complete_value(flag: Flag, incomplete: str) -> list[str]:
    """The values of a flag that begin like this; none where the shell's own files will do."""
    if flag.key in ("model", "draft"):
        return complete_model(incomplete)
    if isinstance(flag.kind, Choice):
        return [word for word in flag.kind.values if word.startswith(incomplete)]
    return []


def complete_model(incomplete: str) -> list[str]:
    """Models that begin like this: aliases, the toy, models here, .gguf files and folders."""
    named = [name for name in (*_aliases(), TOY, *_local()) if name.startswith(incomplete)]
    return [*named, *_files(incomplete)]


def _local() -> list[str]:
    """The names of the models that `nextok ls` lists; no network is asked."""
    from nextok.backends.local_models import local_models

    return [model.name for model in local_models()]


def _aliases() -> list[str]:
    try:
        return sorted(read_config(config_path(os.environ)).aliases)
    except UsageError:
        return []  # a run will say what is wrong with the file; a TAB must not


def _files(incomplete: str) -> Iterator[str]:
    typed, beginning = os.path.split(incomplete)
    prefix = incomplete[: len(incomplete) - len(beginning)]
    try:
        entries = sorted(os.scandir(os.path.expanduser(typed) or "."), key=lambda one: one.name)
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") and not beginning.startswith(".")
        if hidden or not entry.name.startswith(beginning):
            continue
        if entry.is_dir():
            yield f"{prefix}{entry.name}/"
        elif entry.name.endswith(".gguf"):
            yield prefix + entry.name
