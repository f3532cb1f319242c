"""What the values of flags may be: from a word of the command line, or from TOML and JSON.

Every kind says what it expects in words that complete "must be …", so that one sentence serves
all. `parse` and `accept` raise ValueError and know nothing of flags, files or exit codes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class Text(Written):
    """Any text."""

    metavar: str = "TEXT"
    empty: bool = True

    @property
    def expected(self) -> str:
        return "a text" if self.empty else "at least one character"

    def parse(self, text: str) -> object:
        if not text and not self.empty:
            raise ValueError
        return text


@dataclass(frozen=True, kw_only=True)
class Path(Written):
    """A path or a name; `~/` is the home folder even where no shell has replaced it."""

    metavar: str = "FILE"
    expected: str = "the path of a file"

    def parse(self, text: str) -> object:
        if not text or "\0" in text:
            raise ValueError
        return os.path.expanduser(text) if text.startswith("~") else text


@dataclass(frozen=True, kw_only=True)
class Choice(Written):
    """One word of a closed set."""

    values: Mapping[str, object]
    name: str = ""
    """What stands for it in the help where the words would be too many."""

    @property
    def metavar(self) -> str:
        return self.name or "|".join(self.values)

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


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Yes or no."""

    metavar: str = ""
    expected: str = "1, 0, true or false"

    def parse(self, text: str) -> object:
        if text not in ("1", "0", "true", "false"):
            raise ValueError
        return text in ("1", "true")

    def accept(self, value: object) -> object:
        return self.parse(str(value).lower() if isinstance(value, (bool, int)) else text_of(value))


@dataclass(frozen=True, kw_only=True)
class JsonObject:
    """A JSON object, or a table where the source has tables."""

    metavar: str = "JSON"
    expected: str = 'a JSON object such as {"enable_thinking": false}'

    def parse(self, text: str) -> object:
        import json

        return self.accept_table(json.loads(text))

    def accept(self, value: object) -> object:
        return self.parse(value) if isinstance(value, str) else self.accept_table(value)

    def accept_table(self, value: object) -> object:
        if not isinstance(value, dict):
            raise ValueError
        return value


@dataclass(frozen=True, kw_only=True)
class Encoding(Written):
    """The name of a text encoding Python knows."""

    metavar: str = "NAME"
    expected: str = "the name of a text encoding, such as utf-8, utf-16 or latin-1"

    def parse(self, text: str) -> object:
        try:
            b"".decode(text)
        except LookupError as error:
            raise ValueError from error
        return text


def text_of(value: object) -> str:
    """The value, if it is a text. ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError
    return value


def one_of(*words: str, name: str = "") -> Choice:
    """A choice whose values are the words themselves."""
    return Choice(values={word: word for word in words}, name=name)
