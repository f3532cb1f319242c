"""Which files of a repository are the model that is meant.

Promises whole sets of parts, and never a projector, an importance matrix or a draft head.
Knows names and sizes only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nextok.backends.hub_errors import FileNotInRepo
from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.hub_reference import HubReference
from nextok.backends.quant_names import (
    FLOATS,
    NEVER,
    has_tokens,
    is_variant,
    quant_of,
    stem,
    word_for,
)
from nextok.backends.repo_models import Candidate, candidates, set_of
from nextok.backends.shown_text import shown
from nextok.generation.errors import HubError, UsageError

__all__ = ["Ambiguous", "Candidate", "Choice", "UnknownQuant", "candidates", "choose"]

DEFAULTS = ("Q4_K_M", "Q8_0")
"""What is taken when no quant is named, the first that there is."""


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
    return set_of(path, files, memory_bytes)


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
    import difflib  # for mistakes only

    return difflib.SequenceMatcher(None, model.label.lower(), tag.lower()).ratio()


def _labels(models: Sequence[Candidate]) -> str:
    text = ", ".join(shown(model.label) for model in models[:12])
    return text + (f" and {len(models) - 12} more" if len(models) > 12 else "")


def _name(path: str, *, lower: bool = True) -> str:
    name = PurePosixPath(path).name
    return name.lower() if lower else name


def _no_file(listing: Listing, path: str) -> str:
    import difflib

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
