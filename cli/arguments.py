"""The words of the command line, told apart into flags with their values and the rest.

Flags may stand anywhere before `--`. An argument with white space in it is never a flag (unless
what comes before its `=` is one), nor is a negative number; a value is never taken from what is
itself a flag. Knows the table of flags, and no command's meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from nextok.cli.commands import CommandName
from nextok.cli.flag_table import names_for
from nextok.cli.flags import Flag
from nextok.cli.spelling import hint
from nextok.generation.errors import UsageError

Names: TypeAlias = Mapping[str, tuple[Flag, bool]]
"""What each name means, and what it means for a switch."""

HELP = ("--help", "-h")
VERSION = "--version"
_SPACE = re.compile(r"\s")
_NEGATIVE = re.compile(r"-\.?[0-9].*", re.DOTALL)


class Arguments(NamedTuple):
    """What was typed."""

    values: Mapping[str, object]
    """Of the flags given, by key."""
    words: tuple[str, ...]
    literal: bool = False
    """Whether `--` said that what follows are words."""
    help: bool = False
    version: bool = False


class _Typed(NamedTuple):
    """A flag as it was typed: its spelling, and a value if one was joined to it."""

    flag: Flag
    meant: bool
    spelling: str
    joined: str | None


def parse(argv: list[str], command: CommandName) -> Arguments:
    """Tell flags and words apart. UsageError for what the command does not carry."""
    return _Parser(command).parse(argv)


class _Parser:
    """One walk over the arguments."""

    def __init__(self, command: CommandName) -> None:
        self._command = command
        self._names = names_for(command)
        self._values: dict[str, object] = {}
        self._repeated: dict[str, list[object]] = {}
        self._words: list[str] = []

    def parse(self, argv: list[str]) -> Arguments:
        literal = False
        rest = iter(argv)
        for argument in rest:
            if argument == "--":
                literal = True
                self._words.extend(rest)
            elif argument in HELP or argument == VERSION:
                # Asking for help outranks whatever is wrong with the rest.
                return self._result(help=argument in HELP, version=argument == VERSION)
            elif is_word(argument, self._names):
                self._words.append(argument)
            else:
                for typed in self._read(argument):
                    self._take(typed, rest)
        return self._result(literal=literal)

    def _result(
        self, *, literal: bool = False, help: bool = False, version: bool = False
    ) -> Arguments:
        return Arguments(
            values=self._values,
            words=tuple(self._words),
            literal=literal,
            help=help,
            version=version,
        )

    def _read(self, argument: str) -> list[_Typed]:
        """The flags of one argument: one, or several switches of one letter."""
        typed = read_flag(argument, self._names)
        if not typed:
            raise UsageError(f"there is no option {_name(argument)}{self._hint(argument)}")
        for one in typed:
            if self._command not in one.flag.commands:
                known = ", ".join(one.flag.commands)
                raise UsageError(
                    f"`nextok {self._command}` has no option {one.spelling}; these have: {known}"
                )
        return typed

    def _hint(self, argument: str) -> str:
        if "-" + _name(argument) in self._names:
            return f": did you mean -{_name(argument)}?"
        carried = [n for n, (flag, _) in self._names.items() if self._command in flag.commands]
        return hint(_name(argument), [*carried, "--help", VERSION])

    def _take(self, typed: _Typed, rest: Iterator[str]) -> None:
        flag = typed.flag
        if flag.switch:
            on = typed.joined is None or flag.parse(typed.joined, typed.spelling)
            self._values[flag.key] = bool(on) == typed.meant
            return
        text = typed.joined if typed.joined is not None else self._next_value(typed, rest)
        value = flag.parse(text, typed.spelling)
        if flag.repeatable:
            values = self._repeated.setdefault(flag.key, [])
            values.append(value)
            self._values[flag.key] = flag.collect(values)
        else:
            self._values[flag.key] = value

    def _next_value(self, typed: _Typed, rest: Iterator[str]) -> str:
        value = next(rest, None)
        expected = typed.flag.kind.expected
        if value is None:
            raise UsageError(f"{typed.spelling} needs a value: {expected}")
        if value in ("--", VERSION, *HELP) or read_flag(value, self._names):
            raise UsageError(
                f"{typed.spelling} needs a value, and {value} is an option: "
                f"write {typed.spelling}={value} if it is meant as the value"
            )
        return value


def is_word(argument: str, names: Names) -> bool:
    """Whether it cannot be a flag, known or unknown."""
    if not argument.startswith("-") or argument == "-":
        return True
    spaced = _SPACE.search(argument) is not None and not read_flag(argument, names)
    return spaced or _NEGATIVE.fullmatch(argument) is not None


def read_flag(argument: str, names: Names) -> list[_Typed]:
    """The known flags an argument consists of; none if it is no flag."""
    if not argument.startswith("-"):
        return []
    name, equals, value = argument.partition("=")
    found = names.get(_name(argument))
    if found is not None:
        return [
            _Typed(flag=found[0], meant=found[1], spelling=name, joined=value if equals else None)
        ]
    if argument.startswith("--") or _SPACE.search(name):
        return []
    return _switches(argument, names) or _joined(argument, names)


def _switches(argument: str, names: Names) -> list[_Typed]:
    """`-qv`: switches of one letter in a row."""
    found = [(f"-{letter}", names.get(f"-{letter}")) for letter in argument[1:]]
    typed = [
        _Typed(flag=known[0], meant=known[1], spelling=name, joined=None)
        for name, known in found
        if known is not None and known[0].switch
    ]
    return typed if len(typed) == len(found) else []


def _joined(argument: str, names: Names) -> list[_Typed]:
    """`-n5`: a flag of one letter and its value. `-seed` and `-model` are slips, not values."""
    found = names.get(argument[:2])
    if found is None or found[0].switch or "-" + _name(argument) in names:
        return []
    value = argument[2:].removeprefix("=")
    return [_Typed(flag=found[0], meant=True, spelling=argument[:2], joined=value)]


def _name(argument: str) -> str:
    """The part before `=`, with `-` for `_`."""
    name = argument.partition("=")[0]
    return name if _SPACE.search(name) else "-" + name[1:].replace("_", "-")
