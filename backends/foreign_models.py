"""The models of other tools on this machine: Ollama's and LM Studio's, used where they are.

Reads their lists and folders and writes nothing there; passes over what cannot be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.quant_names import quant_of
from nextok.backends.repo_models import candidates

_OLLAMA_FOLDERS = ("~/.ollama/models", "/usr/share/ollama/.ollama/models")
_LM_STUDIO_FOLDERS = ("~/.lmstudio/models", "~/.cache/lm-studio/models")
_LM_STUDIO_POINTER = "~/.lmstudio-home-pointer"
_MODEL_LAYER = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_MOST_MANIFEST_BYTES = 1 << 20
_MOST_FOLDERS_DEEP = 6


@dataclass(frozen=True, kw_only=True)
class ForeignModel:
    """One model, by the name its own tool gives it."""

    name: str
    path: Path
    quant: str | None
    bytes: int


def ollama_models() -> Iterator[ForeignModel]:
    """Those in OLLAMA_MODELS, else in the places where Ollama keeps them."""
    named = os.environ.get("OLLAMA_MODELS")
    for folder in (named,) if named else _OLLAMA_FOLDERS:
        root = Path(folder).expanduser()
        for manifest in _files(root / "manifests"):
            model = _of_manifest(root, manifest)
            if model is not None:
                yield model


def lm_studio_models() -> Iterator[ForeignModel]:
    """Those in LM Studio's folders: PUBLISHER/MODEL/FILE.gguf."""
    for root in _lm_studio_folders():
        files = tuple(_gguf_files(root))
        listing = Listing(repo="", revision="", commit="", gated=False, files=files)
        for model in candidates(listing, None):
            if model.missing is None:
                yield ForeignModel(
                    name=model.name,
                    path=root / model.name,
                    quant=model.quant,
                    bytes=model.bytes,
                )


def _of_manifest(root: Path, manifest: Path) -> ForeignModel | None:
    """The model that an Ollama manifest (REGISTRY/NAMESPACE/NAME/TAG) is about."""
    try:
        with manifest.open("rb") as file:
            content = json.loads(file.read(_MOST_MANIFEST_BYTES))
        layers = content["layers"]
        digests = [one["digest"] for one in layers if one["mediaType"] == _MODEL_LAYER]
        (found,) = (_DIGEST.fullmatch(digest) for digest in digests)
        if found is None:
            return None
        blob = root / "blobs" / f"sha256-{found[1]}"
        size = blob.stat().st_size
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    *place, tag = manifest.relative_to(root / "manifests").parts
    name = "/".join(place).removeprefix("registry.ollama.ai/").removeprefix("library/")
    return ForeignModel(name=f"{name}:{tag}", path=blob, quant=quant_of(tag), bytes=size)


def _lm_studio_folders() -> list[Path]:
    folders = [Path(folder).expanduser() for folder in _LM_STUDIO_FOLDERS]
    try:
        home = Path(_LM_STUDIO_POINTER).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        home = ""
    if home:
        folders.append(Path(home) / "models")
    distinct = {os.path.realpath(folder): folder for folder in reversed(folders)}
    return list(distinct.values())


def _gguf_files(root: Path) -> Iterator[HubFile]:
    for path in _files(root):
        if not path.name.lower().endswith(".gguf"):
            continue
        try:
            size = path.stat().st_size
        except OSError:
            continue
        yield HubFile(path=path.relative_to(root).as_posix(), size=size, sha256=None)


def _files(root: Path) -> Iterator[Path]:
    """All files below a folder, not endlessly deep."""
    for at, folders, names in os.walk(root):
        if len(Path(at).relative_to(root).parts) >= _MOST_FOLDERS_DEEP:
            folders.clear()
        yield from (Path(at) / name for name in sorted(names))
