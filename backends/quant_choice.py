"""Which files of a repository are the model that is meant.

Promises whole sets of parts, and never a projector, an importance matrix or a draft head.
Knows names and sizes only.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nextok.backends.hub_errors import FileNotInRepo
from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.hub_reference import HubReference
from nextok.backends.quant_names import (
    FLOATS,
    HEADS,
    NEVER,
    has_tokens,
    is_variant,
    quant_of,
    stem,
    word_for,
)
from nextok.backends.shown_text import shown
from nextok.backends.split_files import part_number, part_paths
from nextok.generation.errors import HubError, UsageError

DEFAULTS = ("Q4_K_M", "Q8_0")
"""What is taken when no quant is named, the first that there is."""
_MEMORY_PER_BYTE = 1.2
"""Of the file: its weights, and beside them the KV cache and the buffers of the engine."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One model of a repository: a file, or a set of parts in order."""

    name: str
    """The path of the first part."""
    quant: str | None
    """As in the name, in upper case: Q4_K_M, UD-Q4_K_XL; None when the name has none."""
    parts: tuple[HubFile, ...]
    bytes: int
    fits: bool | None
    """Whether it runs in this machine's memory; None when that is not known."""
    missing: str | None = None
    """The first part that the repository does not have."""

    @property
    def label(self) -> str:
        """What to write after the colon to get this one."""
        return self.quant or PurePosixPath(self.name).name


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The model to fetch."""

    quant: str | None
    parts: tuple[HubFile, ...]
    fits: bool | None

    @property
    def bytes(self) -> int:
        return sum(part.size for part in self.parts)


class Ambiguous(UsageError):
    """Several models are meant by the reference, or none of many; the message is one line."""

    def __init__(self, message: str, candidates: list[Candidate]) -> None:
        super().__init__(message)
        self.candidates = candidates
        """Nearest first for an unknown quant, else by size."""


class UnknownQuant(Ambiguous):
    """No model of the repository has the quant asked for."""


def choose(listing: Listing, reference: HubReference, memory_bytes: int | None) -> Choice:
    """The model that the reference means.

    Raises Ambiguous, UnknownQuant, FileNotInRepo, UsageError (a projector named), and HubError
    (no GGUF at all, a part missing).
    """
    if reference.file is not None:
        found = _of_file(listing, reference.file, memory_bytes)
    else:
        models = candidates(listing, memory_bytes)
        if not models:
            raise HubError(_nothing(listing))
        found = (
            _of_default(models, listing.repo)
            if reference.quant is None
            else _of_quant(models, listing, reference.quant, memory_bytes)
        )
    if found.missing is not None:
        raise HubError(
            f"{listing.repo}: incomplete: {shown(found.missing)} is missing there: choose another"
        )
    return Choice(quant=found.quant, parts=found.parts, fits=found.fits)


def candidates(listing: Listing, memory_bytes: int | None) -> list[Candidate]:
    """All models of the repository, smallest first."""
    return [
        model
        for model in _sets(listing, memory_bytes)
        if word_for(model.name, (*NEVER, *HEADS)) is None
    ]


def _sets(listing: Listing, memory_bytes: int | None) -> list[Candidate]:
    """All GGUF files, the parts of one set together, smallest first."""
    files = {file.path: file for file in listing.files if file.path.lower().endswith(".gguf")}
    firsts = {str(part_paths(PurePosixPath(path))[0]): path for path in files}
    models = [_set(path, files, memory_bytes) for path in firsts.values()]
    return sorted(models, key=lambda model: (model.bytes, model.name))


def _set(path: str, files: dict[str, HubFile], memory_bytes: int | None) -> Candidate:
    """The set that a path is of, and what it lacks."""
    names = [str(part) for part in part_paths(PurePosixPath(path))]
    parts = tuple(files[name] for name in names if name in files)
    size = sum(part.size for part in parts)
    return Candidate(
        name=names[0],
        quant=quant_of(names[0]),
        parts=parts,
        bytes=size,
        fits=None if memory_bytes is None else size * _MEMORY_PER_BYTE <= memory_bytes,
        missing=next((name for name in names if name not in files), None),
    )


def _of_file(listing: Listing, path: str, memory_bytes: int | None) -> Candidate:
    """The set that a file named by the user is of."""
    files = {file.path: file for file in listing.files}
    if path not in files:
        same = [name for name in files if name.lower() == path.lower()]
        if len(same) != 1:
            raise FileNotInRepo(_no_file(listing, path))
        path = same[0]
    word = word_for(path, tuple(NEVER))
    if word is not None:
        raise UsageError(f"{shown(path)}: {NEVER[word]} ({word}), no model: name the model's file")
    return _set(path, files, memory_bytes)


def _of_quant(
    models: list[Candidate], listing: Listing, tag: str, memory_bytes: int | None
) -> Candidate:
    if tag.lower().endswith(".gguf"):
        named = [file.path for file in listing.files if _name(file.path) == tag.lower()]
        if named:
            return _of_file(listing, named[0], memory_bytes)
    tests: tuple[Callable[[Candidate], bool], ...] = (
        lambda model: (model.quant or "") == tag.upper(),
        lambda model: stem(model.name).lower() == stem(tag).lower(),
        lambda model: not _is_quant(tag) and has_tokens(model.name, tag),
    )
    for test in tests:
        found = [model for model in models if test(model)]
        plain = [model for model in found if not is_variant(model.name)]
        if found:
            return _only(plain or found, listing.repo, f"{tag!r} means")
    choices = sorted(models, key=lambda model: -_likeness(model, tag))
    raise UnknownQuant(
        f"{listing.repo} has no {shown(tag)}: choose one of {_labels(choices)}", choices
    )


def _of_default(models: list[Candidate], repo: str) -> Candidate:
    """The usual quant; without one the best that fits into memory."""
    for quant in DEFAULTS:
        found = [model for model in models if model.quant == quant]
        if found:
            plain = [model for model in found if not is_variant(model.name)]
            return _only(plain or found, repo, f"there is more than one {quant}:")
    if len(models) == 1:
        return models[0]
    plain = [model for model in models if not is_variant(model.name)] or models
    quantised = [model for model in plain if model.quant and model.quant not in FLOATS]
    for group in (quantised, plain):
        fitting = [model for model in group if model.fits]
        if fitting:
            best = [model for model in fitting if model.bytes == fitting[-1].bytes]
            return _only(best, repo, "equally large are")
    raise Ambiguous(f"{repo}: say which one: {_labels(models)}", models)


def _only(found: list[Candidate], repo: str, what: str) -> Candidate:
    if len(found) == 1:
        return found[0]
    names = ", ".join(shown(_name(model.name, lower=False)) for model in found[:6])
    raise Ambiguous(f"{repo}: {what} several files, name one: {names}", found)


def _is_quant(tag: str) -> bool:
    """Whether the tag is a quant itself, and so not to be looked for as any other word."""
    return quant_of(tag) == tag.upper()


def _likeness(model: Candidate, tag: str) -> float:
    return difflib.SequenceMatcher(None, model.label.lower(), tag.lower()).ratio()


def _labels(models: Sequence[Candidate]) -> str:
    text = ", ".join(shown(model.label) for model in models[:12])
    return text + (f" and {len(models) - 12} more" if len(models) > 12 else "")


def _name(path: str, *, lower: bool = True) -> str:
    name = PurePosixPath(path).name
    return name.lower() if lower else name


def _no_file(listing: Listing, path: str) -> str:
    names = [file.path for file in listing.files if file.path.lower().endswith(".gguf")]
    near = difflib.get_close_matches(path, names, n=3, cutoff=0.3) or names[:3]
    hint = f"the nearest are {', '.join(map(shown, near))}" if near else "it has no .gguf file"
    return f"{listing.repo} has no file {shown(path)}: {hint}"


def _nothing(listing: Listing) -> str:
    if any(file.path.lower().endswith(".gguf") for file in listing.files):
        return f"{listing.repo} has only helper files (projector, draft head), no model to run"
    if any(file.path.endswith(".safetensors") for file in listing.files):
        name = listing.repo.partition("/")[2]
        return (
            f"{listing.repo} has no .gguf file, only weights for other programs: "
            f"nextok search {name} finds conversions"
        )
    return f"{listing.repo} has no .gguf file: name a repository that has"
