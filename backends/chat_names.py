"""What a saved chat may be called, and how one gets another name.

Promises that a name is a readable file name everywhere, and that no chat takes the place of
another.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from nextok.backends.shown_text import shown
from nextok.generation.errors import OutputError, UsageError

_MOST_CHARACTERS = 100
_MOST_BYTES = 200
"""A file name may have 255, the endings of the chat and its backups included."""
_SLUG_CHARACTERS = 40
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def is_valid(name: str) -> bool:
    """Printable, of sane length, no path, nothing hidden, nothing like an option."""
    return (
        0 < len(name) <= _MOST_CHARACTERS
        and name.isprintable()
        and not set(name) & set("/\\")
        and name == name.strip()
        and not name.startswith((".", "-"))
        and len(name.encode()) <= _MOST_BYTES
    )


def check_name(name: str) -> None:
    """UsageError unless it is valid."""
    if not is_valid(name):
        raise UsageError(
            f"{shown(name, 100)!r} cannot name a chat: take up to {_MOST_CHARACTERS} letters,"
            " digits, spaces and signs without a slash, the first no '.' or '-'"
        )


def readable_name(first_words: str, now: datetime, is_taken: Callable[[str], bool]) -> str:
    """The date and the beginning of what was said; with a number if that is taken."""
    name = f"{now:%Y-%m-%d}-{_slug(first_words) or 'chat'}"
    if not is_taken(name):
        return name
    number = 2
    while is_taken(f"{name}-{number}"):
        number += 1
    return f"{name}-{number}"


def move(old: Path, new: Path) -> None:
    """Never over another chat: UsageError. OutputError when the folder cannot be written."""
    try:
        try:
            os.link(old, new)  # unlike a rename it is refused when the name is taken
            old.unlink()
        except FileExistsError:
            _rename_if_same(old, new)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _rename_if_same(old, new)
    except OSError as error:
        raise OutputError(unwritable(old, error)) from error


def taken(path: Path) -> str:
    """What to say when a name is."""
    return f"there is a chat {shown(path.stem)} already: take another name"


def unwritable(path: Path, error: OSError) -> str:
    """What to say when a chat's file cannot be written."""
    return (
        f"the chat {shown(path)} cannot be written ({error.strerror}):"
        " make room, or see whose folder it is"
    )


def _rename_if_same(old: Path, new: Path) -> None:
    """Where there are no links, or where the new name is the old one but for its case."""
    if os.path.lexists(new) and not (new.exists() and new.samefile(old)):
        raise UsageError(taken(new))
    os.rename(old, new)


def _slug(text: str) -> str:
    """Its first words, in small letters, joined by hyphens. Any script's letters stay."""
    kept = ""
    for character in unicodedata.normalize("NFC", text[:1000]).lower():
        mark = unicodedata.category(character).startswith("M") and not kept.endswith(" ")
        kept += character if character.isalnum() or mark else " "
    slug = "-".join(kept.split())
    if len(slug) > _SLUG_CHARACTERS:
        slug = slug[:_SLUG_CHARACTERS].rpartition("-")[0] or slug[:_SLUG_CHARACTERS]
    return slug.encode()[: _MOST_BYTES - 40].decode(errors="ignore")
