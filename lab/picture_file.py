"""Where a picture goes: which form its name asks for, and what it may replace.

A file is replaced only by its successor: a picture drawn here before. What stands under the name
is the old picture or the new one, whatever happens.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from nextok.generation.errors import OutputError, UsageError
from nextok.lab.picture import MARK, Form

_FORMS: dict[str, Form] = {".png": "png", ".svg": "svg"}
_HEAD = 4096
"""Bytes in which a picture of ours says so."""
_BEGINNINGS = (b"\x89PNG\r\n", b"<?xml")


def form_of(path: str) -> Form:
    """By the name's ending. UsageError for any but .png and .svg."""
    form = _FORMS.get(os.path.splitext(path)[1].lower())
    if form is None:
        raise UsageError(f"a picture is a .png or .svg file: {path} ends in neither")
    return form


def check_replaceable(path: str) -> None:
    """UsageError if something else than a picture of ours has that name.

    OutputError if there is no folder for it, or no right to look.
    """
    try:
        os.stat(os.path.dirname(path) or ".")  # said before the picture is drawn, not after
        head = _head(path) if os.path.exists(path) else b""
    except OSError as error:
        raise _unwritable(path, error) from error
    if head and not (head.startswith(_BEGINNINGS) and MARK.encode() in head):
        raise UsageError(f"{path} exists and was not drawn by nextok: give another name")


def write_picture(path: str, data: bytes) -> None:
    """Put the picture in place, whole. OutputError if it cannot be written."""
    target = os.path.realpath(path)  # a link stays a link
    draft = f"{target}.{secrets.token_hex(4)}.part"
    try:
        try:
            _write_new(draft, target, data)
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _head(path: str) -> bytes:
    """How it begins; a folder or a pipe not like a picture."""
    if not os.path.isfile(path):
        return b"no file"
    with open(path, "rb") as file:
        return file.read(_HEAD)


def _write_new(path: str, older: str, data: bytes) -> None:
    """A file with the rights of the older one, if there is one."""
    with open(path, "xb") as file:
        with suppress(FileNotFoundError):
            os.fchmod(file.fileno(), stat.S_IMODE(os.stat(older).st_mode))
        file.write(data)


def _unwritable(path: str, error: OSError) -> OutputError:
    return OutputError(f"cannot write {path}: {error.strerror}")
