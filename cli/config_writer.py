"""Changes one entry of the config file and leaves every other character of it as it is.

Promises that the file is the old one or the new one, whatever happens, and that the new one says
exactly what the old one said but for the entry. Knows no commands and no models.
"""

from __future__ import annotations

import codecs
import copy
import os
import tempfile
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError

from nextok.cli.config_file import read_config
from nextok.generation.errors import OutputError, UsageError

Tables: TypeAlias = MutableMapping[str, Any]
_PRIVATE = 0o600


def set_entry(path: str, table: str, key: str, value: str) -> None:
    """Set `key` in `[table]`, making file and table where there are none.

    Raises UsageError for a file that cannot be read, OutputError for one that cannot be written.
    """

    def change(tables: Tables) -> None:
        tables.setdefault(table, {})[key] = value

    _edit(path, change)


def remove_entry(path: str, table: str, key: str) -> None:
    """Take `key` out of `[table]`, where it must be. Raises as `set_entry` does."""

    def change(tables: Tables) -> None:
        del tables[table][key]

    _edit(path, change)


def _edit(path: str, change: Callable[[Tables], None]) -> None:
    read_config(path)  # has the words for a file that is broken already
    path = os.path.realpath(path)  # a link into a folder of dotfiles stays a link
    before, mark = _read(path)
    try:
        document = tomlkit.parse(before)
        expected = copy.deepcopy(document.unwrap())
        change(document)
        change(expected)
        after = tomlkit.dumps(document)
        said = tomlkit.parse(after).unwrap()
    except (TOMLKitError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: cannot be changed by this command: edit it by hand") from error
    if said != expected:
        raise UsageError(f"{path}: cannot be changed by this command: edit it by hand")
    try:
        _replace(path, mark + after.encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


def _read(path: str) -> tuple[str, bytes]:
    """The text, and the mark some editors put before it."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return "", b""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return data[len(mark) :].decode(), mark


def _replace(path: str, data: bytes) -> None:
    """Put the file in place whole, with the rights it had; a new one is its owner's alone."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        mode = os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mode = _PRIVATE
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path))
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
