"""What the values of flags may be: from a word of the command line, or from TOML and JSON.

Every kind says what it expects in words that complete "must be …", so that one sentence serves
all. `parse` and `accept` raise ValueError and know nothing of flags, files or exit codes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol


class Kind(Protocol):
    """A set of values and how they are written."""

    @property
    def metavar(self) -> str:
        """What stands for the value in the help."""

    @property
    def expected(self) -> str:
        """Completes "must be …"."""

    def parse(self, text: str) -> object:
        """The value a word stands for. ValueError when it stands for none."""

    def accept(self, value: object) -> object:
        """The same for a value from TOML or JSON, which already has a type."""


class Written:
    """A kind whose values are words wherever they come from."""

    def parse(self, text: str) -> object:
        raise NotImplementedError

    def accept(self, value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        return self.parse(value)


class Text(Written):
    """Any text."""

    metavar = "TEXT"

    def __init__(self, *, empty: bool = True) -> None:
        """empty: whether no text at all is a text too."""
        self._empty = empty
        self.expected = "a text" if empty else "at least one character"

    def parse(self, text: str) -> object:
        if not text and not self._empty:
            raise ValueError
        return text


class Path(Written):
    """A path or a name; `~/` is the home folder even where no shell has replaced it."""

    def __init__(self, metavar: str = "FILE", expected: str = "the path of a file") -> None:
        self.metavar = metavar
        self.expected = expected

    def parse(self, text: str) -> object:
        if not text or "\0" in text:
            raise ValueError
        return os.path.expanduser(text) if text.startswith("~") else text


class Choice(Written):
    """One word of a closed set."""

    def __init__(self, values: Mapping[str, object], name: str = "") -> None:
        """name: what stands for it in the help where the words would be too many."""
        self.values = values
        self.metavar = name or "|".join(values)

    @property
    def expected(self) -> str:
        *most, last = self.values
        return f"{', '.join(most)} or {last}"

    def accept(self, value: object) -> object:
        if isinstance(value, bool):  # TOML's own words for on and off
            return self.parse("on" if value else "off")
        return self.parse(text_of(value))

    def parse(self, text: str) -> object:
        if text not in self.values:
            raise ValueError
        return self.values[text]


class Switch:
    """Yes or no."""

    metavar = ""
    expected = "1, 0, true or false"

    def parse(self, text: str) -> object:
        if text not in ("1", "0", "true", "false"):
            raise ValueError
        return text in ("1", "true")

    def accept(self, value: object) -> object:
        return self.parse(str(value).lower() if isinstance(value, (bool, int)) else text_of(value))


class JsonObject:
    """A JSON object, or a table where the source has tables."""

    metavar = "JSON"
    expected = 'a JSON object such as {"enable_thinking": false}'

    def parse(self, text: str) -> object:
        import json

        return self.accept_table(json.loads(text))

    def accept(self, value: object) -> object:
        return self.parse(value) if isinstance(value, str) else self.accept_table(value)

    def accept_table(self, value: object) -> object:
        if not isinstance(value, dict):
            raise ValueError
        return value


class Encoding(Written):
    """The name of a text encoding Python knows."""

    metavar = "NAME"
    expected = "the name of a text encoding, such as utf-8, utf-16 or latin-1"

    def parse(self, text: str) -> object:
        try:
            b"0".decode(text)  # no empty bytes: for them Python does not look the name up
        except LookupError as error:
            raise ValueError from error
        except UnicodeError:
            pass  # known, and not made for a single byte
        return text


def text_of(value: object) -> str:
    """The value, if it is a text. ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError
    return value


def one_of(*words: str, name: str = "") -> Choice:
    """A choice whose values are the words themselves."""
    return Choice(values={word: word for word in words}, name=name)
