"""Copies of models in other types, kept: made once for each model, type and engine.

A copy is known by what its source holds, not by its name, and is used only if it is still what
was made. Knows nothing of what it is for.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from nextok.backends.gguf_header import read_header
from nextok.backends.model_fingerprint import model_fingerprint
from nextok.backends.quantizer import quantize
from nextok.backends.shown_text import shown
from nextok.backends.split_files import first_part, part_paths
from nextok.generation.abort import Abort
from nextok.generation.errors import ModelError, OutputError

_JOURNAL = "made.json"
_ENGINE = "llama-cpp-python"
_BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0}
_MOST_BITS = 9.0
"""Per weight, of everything that is quantised."""


class QuantizedModels:
    """The copies in `folder`, which is made when the first is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(
        self,
        source: Path,
        name: str,
        *,
        threads: int,
        abort: Abort,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Path:
        """The file of `source`, a checked model, in the type `name`; made if it is not there.

        progress: as for `quantize`. Raises ModelError, Aborted, and OutputError where there is no
        room for it.
        """
        source = first_part(source)  # by which the engine finds the others
        fingerprint = model_fingerprint(source)
        home = self._folder / fingerprint[:16]
        target = home / f"{name}.gguf"
        if _is_as_made(target, _entries(home), fingerprint):
            return target
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            _check_room(source, name, home)
            self._make(source, target, lambda draft: quantize(
                source, draft, name, threads=threads, abort=abort, progress=progress,
            ))  # fmt: skip
            _note(home, target, fingerprint)
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror}") from error
        return target

    @staticmethod
    def _make(source: Path, target: Path, write: Callable[[Path], None]) -> None:
        """Whole or not at all."""
        draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        try:
            write(draft)
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink()


def _is_as_made(target: Path, entries: dict[str, object], source: str) -> bool:
    if not target.is_file():
        return False
    with suppress(ModelError):
        return entries.get(target.name) == _entry(target, source)
    return False


def _entry(target: Path, source: str) -> dict[str, str]:
    """What is noted of a copy: its source, its own contents, and what made it."""
    return {"source": source, "holds": model_fingerprint(target), "engine": version(_ENGINE)}


def _entries(home: Path) -> dict[str, object]:
    """By the names of the copies; what is not readable is nothing."""
    try:
        entries = json.loads((home / _JOURNAL).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _note(home: Path, target: Path, source: str) -> None:
    """Two processes at the same moment may lose one entry: its copy is then made again."""
    entries = {**_entries(home), target.name: _entry(target, source)}
    draft = home / f"{_JOURNAL}.{secrets.token_hex(4)}.part"
    draft.write_text(json.dumps(entries, indent=0), encoding="utf-8")
    os.replace(draft, home / _JOURNAL)


def _check_room(source: Path, name: str, folder: Path) -> None:
    """The engine would fill the disk first, and say then that it cannot write."""
    headers = [read_header(part) for part in part_paths(source)]
    weights = sum(tensor.elements for header in headers for tensor in header.tensors)
    wanted = int(weights * min(_BITS.get(name, _MOST_BITS), 32.0) / 8)
    free = shutil.disk_usage(folder).free
    if wanted > free:
        raise OutputError(
            f"{name} of {shown(source)} takes up to {wanted / 1e9:.1f} GB and {folder} has "
            f"{free / 1e9:.1f} GB left: make room, or point XDG_CACHE_HOME elsewhere"
        )


def bits_per_weight(path: Path) -> float:
    """Of a model file, all its tensors together. Raises ModelError."""
    headers = [read_header(part) for part in part_paths(path)]
    tensors = [tensor for header in headers for tensor in header.tensors]
    size = sum(tensor.size or 0 for tensor in tensors)
    return 8 * size / max(1, sum(tensor.elements for tensor in tensors))
