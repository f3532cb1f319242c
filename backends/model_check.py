"""Whether a file can be run as a model: asked before the engine sees it.

Promises a Header or a ModelError, in tens of milliseconds, whatever the path leads to; the error
is one line that names the file, says what is wrong and what to do. A sound header is no proof:
`needs_trial` says when to let a child process load the model first.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from nextok.backends.architectures import KNOWN, no_generator
from nextok.backends.file_contents import HEAD_BYTES, what_else
from nextok.backends.gguf_header import Header, read_header
from nextok.backends.header_values import value_fault
from nextok.backends.model_folder import missing_file, named_folder
from nextok.backends.shown_text import shown
from nextok.backends.split_files import part_number, part_paths
from nextok.backends.tensor_check import table_fault, type_fault
from nextok.backends.vocabulary_check import vocabulary_fault
from nextok.generation.errors import ModelError

_OTHER_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SPLIT_NUMBER_TYPE = 2
"""uint16; in any other type the engine's own reader asserts."""


def check_model_file(path: Path) -> Header:
    """The header of the model that `path` is, or is a part of; `path` of it is what to open.

    Raises ModelError for everything that would not load, would end the process, or would not
    generate text.
    """
    parts = _check_parts(path, _check_part(path))
    header = parts[0]
    fault = _kind_fault(header)
    if fault:
        raise ModelError(f"{shown(path)}: {fault}")
    faults = (type_fault(header.architecture, part.tensors) for part in parts)
    fault = value_fault(header) or vocabulary_fault(header) or next(filter(None, faults), None)
    if fault:
        raise ModelError(f"{shown(path)}: unusable: {fault}: get the file from another source")
    return header


def needs_trial(header: Header) -> bool:
    """Whether a sound header is not enough to trust the engine with the file.

    Byte-pair vocabularies and well-trodden architectures have shown no way to end the process
    that the checks here miss.
    """
    well_trodden = header.architecture in KNOWN
    return not well_trodden or header.text("tokenizer.ggml.model") not in ("gpt2", "gemma4")


def _check_part(path: Path) -> Header:
    """One file on its own: there, readable, a GGUF, and whole."""
    _check_openable(path)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not head:
            raise ModelError(f"{shown(path)}: empty (0 bytes): download it again")
        if not head.startswith(b"GGUF"):
            raise ModelError(f"{shown(path)}: {what_else(head)}")
        header = read_header(path)
    except OSError as error:
        raise ModelError(_unreadable(path, error)) from error
    fault = table_fault(header)
    if fault:
        raise ModelError(f"{shown(path)}: {fault}: download it again")
    return header


def _check_openable(path: Path) -> None:
    """Find out without opening it, for opening a pipe may wait for ever."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(missing_file(path)) from None
    except (OSError, ValueError) as error:
        raise ModelError(_unreadable(path, error)) from error
    if stat.S_ISDIR(mode):
        raise ModelError(named_folder(path))
    for is_kind, what in _OTHER_KINDS:
        if is_kind(mode):
            raise ModelError(f"{shown(path)}: {what}, not a file: give the path of a .gguf file")


def _unreadable(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, PermissionError):
        user = f"user {os.geteuid()}"
        return f"{shown(path)}: permission denied: let {user} read it (chmod a+r)"
    why = error.strerror if isinstance(error, OSError) else error
    return f"{shown(path)}: cannot be read ({why}): give the path of a .gguf file"


def _check_parts(path: Path, header: Header) -> list[Header]:
    """The headers of all parts of a split model, checked; of a whole model its own."""
    count = header.integer("split.count") or 1
    if count == 1:
        return [header]
    if (part_number(path) or (0, 0))[1] != count:
        place = (header.integer("split.no") or 0) + 1
        raise ModelError(
            f"{shown(path)}: part {place} of a model in {count} files, under another name:"
            f" name the parts NAME-{place:05d}-of-{count:05d}.gguf"
        )
    paths = part_paths(path)
    missing = [part.name for part in paths if not part.exists()]
    if missing:
        raise ModelError(
            f"{shown(path)}: one of {count} parts, and {shown(missing[0])} is missing:"
            " put it beside the others"
        )
    return [
        _numbered(place, header if part == path else _check_part(part))
        for place, part in enumerate(paths)
    ]


def _numbered(place: int, header: Header) -> Header:
    """The header, if it says that it is the part in this place, counted from 0."""
    numbered = header.types.get("split.no") == _SPLIT_NUMBER_TYPE
    if not numbered or header.integer("split.no") != place:
        raise ModelError(f"{shown(header.path)}: not the part its name says: download it again")
    return header


def _kind_fault(header: Header) -> str | None:
    """Why this is no text generator, and what is."""
    what, architecture = no_generator(header), shown(header.architecture, 40)
    if what:
        kind, _, advice = what.partition(": ")
        advice = advice or "choose a text generation model"
        return f"{kind} (architecture {architecture}): {advice}"
    if not architecture:
        return "its header names no architecture: no language model, or damaged"
    if (
        header.architecture not in KNOWN
        and header.of_architecture("block_count") not in header.types
    ):
        return f"the engine knows no architecture {architecture}: no language model, or too new"
    if not header.tensors:
        return "only a vocabulary, without weights: choose a text generation model"
    return None
