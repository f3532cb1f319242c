"""Opens a model by the name a user gave it: found, checked, tried if need be, loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.options import LoadOptions
from nextok.backends.seen_files import SeenFiles
from nextok.backends.split_files import first_part
from nextok.generation.abort import Abort

if TYPE_CHECKING:
    from nextok.backends.weights import Weights


def open_weights(
    path: Path | None,
    options: LoadOptions,
    abort: Abort,
    *,
    seen: SeenFiles,
    progress: Callable[[float], None] | None = None,
    listener: Callable[[str], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Weights:
    """Load the file; None is the toy. Raises ModelError, EngineError, Aborted.

    progress: called with 0.0 to 1.0, often. listener: told all that the engine logs. meanwhile:
    called right before the engine reads the file, which needs no Python.
    """
    if path is None:
        from nextok.backends.toy import Toy

        return Toy()
    path = checked(path, seen)
    from nextok.backends.llama_library import library, log
    from nextok.backends.llama_weights import LlamaWeights

    log.listener = listener
    library()
    meanwhile()
    return LlamaWeights.load(path, options, abort, progress)


def checked(path: Path, seen: SeenFiles) -> Path:
    """The file to open (the first part of a split model), once nothing speaks against it."""
    from nextok.backends.trial import ensure_survives

    if not seen.has(path, "header"):
        from nextok.backends.model_check import check_model_file, needs_trial

        if not needs_trial(check_model_file(path)):
            seen.add(path, "trial")
        seen.add(path, "header")
    path = first_part(path)
    ensure_survives(path, seen)
    return path
