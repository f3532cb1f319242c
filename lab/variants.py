"""The models to compare: a reference, and the variants of it that are held against it.

With quantisations the reference is the F16 of the file, and the file as it is one of the variants;
with another model the reference is the file as it is. Knows nothing of how they are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nextok.backends.draft_vocabulary import first_difference
from nextok.backends.folders import quantized_folder, state_folder
from nextok.backends.model_facts import model_facts
from nextok.backends.opening import open_weights
from nextok.backends.options import LoadOptions
from nextok.backends.quantized_models import QuantizedModels, bits_per_weight
from nextok.backends.seen_files import SeenFiles
from nextok.generation.errors import UsageError
from nextok.lab.progress import Progress
from nextok.lab.subject import Subject

REFERENCE = "F16"
"""What is taken for the model itself: half precision loses less than any other step here."""
OWN = " (the file)"
"""Ends the label of the file as it is."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A model to run. Either it is open already, or it has a file."""

    label: str
    subject: Subject | None = None
    path: Path | None = None
    bits: float | None = None
    """Per weight, all tensors together."""

    @contextmanager
    def opened(self, like: Subject, load: LoadOptions) -> Iterator[Subject]:
        """The model, run like that one; freed at the end if it was opened here."""
        if self.subject is not None:
            yield self.subject
            return
        weights = open_weights(self.path, load, like.abort, seen=SeenFiles(state_folder()))
        try:
            yield replace(like, weights=weights, path=self.path)
        finally:
            weights.close()


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A reference and what is held against it."""

    reference: Variant
    variants: Sequence[Variant]
    file_type: str
    """Of the file that was named."""

    @property
    def title(self) -> str:
        """What is compared with what, in words."""
        *labels, last = [variant.label for variant in self.variants]
        what = f"{', '.join(labels)} and {last}" if labels else last
        if self.reference.label == REFERENCE and self.file_type != REFERENCE:
            return f"{what} against the {REFERENCE} made of the {self.file_type} file"
        return f"{what} against {self.reference.label}"


def against_model(subject: Subject, other: Subject) -> Comparison:
    """The file as it is, and another model. UsageError if their tokens are not the same."""
    ours, theirs = subject.tokenizer, other.tokenizer
    difference = first_difference(theirs, ours)
    if difference is None and len(ours) != len(theirs):
        difference = f"it has {len(theirs)} tokens, not {len(ours)}"
    if difference is not None:
        raise UsageError(
            f"{other.name} cannot be held against {subject.name}: {difference}; --against needs "
            "a model of the same family"
        )
    names = _names(subject, other)
    return Comparison(
        reference=Variant(label=names[0], subject=subject, bits=_bits(subject.path)),
        variants=(Variant(label=names[1], subject=other, bits=_bits(other.path)),),
        file_type=_file_type(subject.path),
    )


def quantized(subject: Subject, types: Sequence[str], progress: Progress) -> Comparison:
    """The F16 of the file, the file, and the types asked for; made where they are not there yet.

    types: as `nextok.backends.quantizer.quantization` gives them. Raises UsageError for the toy,
    ModelError, OutputError and Aborted.
    """
    path = subject.path
    if path is None:
        raise UsageError("the toy has no file to quantise: name a model with -m")
    models, own_type = QuantizedModels(quantized_folder()), _file_type(path)

    def made(name: str) -> Variant:
        copy = models.get(
            path, name, threads=subject.options.threads, abort=subject.abort,
            progress=lambda done, total: progress.step(done, total, f"tensors of {name}"),
        )  # fmt: skip
        return Variant(label=name, path=copy, bits=_bits(copy))

    own = Variant(label=own_type, subject=subject, bits=_bits(path))
    wanted = [name for name in dict.fromkeys(types) if name not in (REFERENCE, own_type)]
    if own_type == REFERENCE:
        return Comparison(reference=own, variants=_some(map(made, wanted)), file_type=own_type)
    reference = made(REFERENCE)
    variants = (replace(own, label=f"{own_type}{OWN}"), *map(made, wanted))
    return Comparison(reference=reference, variants=variants, file_type=own_type)


def _some(variants: Iterator[Variant]) -> tuple[Variant, ...]:
    found = tuple(variants)
    if not found:
        raise UsageError(f"the file is {REFERENCE} already: --quantize names another type")
    return found


def _names(subject: Subject, other: Subject) -> tuple[str, str]:
    """Their names; two files of one name are told apart by their types, or by their order."""
    if subject.name != other.name:
        return subject.name, other.name
    types = _file_type(subject.path), _file_type(other.path)
    if types[0] != types[1]:
        return f"{subject.name} {types[0]}", f"{other.name} {types[1]}"
    return subject.name, f"{other.name} (the other)"


def _file_type(path: Path | None) -> str:
    return "toy" if path is None else model_facts(path).quantization or "unknown type"


def _bits(path: Path | None) -> float | None:
    return None if path is None else round(bits_per_weight(path), 3)
