"""NEXTOK_… variables as settings: one value each, never split; a JSON array repeats.

An empty variable is as good as none.
"""

from __future__ import annotations

from collections.abc import Mapping

from nextok.cli.flags import Flag
from nextok.generation.errors import UsageError

PREFIX = "NEXTOK_"


def variable_of(word: str) -> str:
    """The variable's name for a setting's name."""
    return PREFIX + word.upper()


def read_flag(flag: Flag, environ: Mapping[str, str]) -> tuple[str, object] | None:
    """The variable that sets the flag, and its value.

    UsageError when two of a flag's names are set, or when the value is none.
    """
    names = {variable_of(word): meant for word, meant in flag.words()}
    given = [name for name in names if environ.get(name)]
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are both set, and mean the same: unset one")
    (name,) = given
    value = _value(flag, environ[name], name)
    return name, value if names[name] else not value


def _value(flag: Flag, text: str, name: str) -> object:
    if flag.repeatable:
        return flag.accept(_items(text), name)
    return flag.parse(text, name)


def _items(text: str) -> list[object]:
    """The items of a JSON array. `[INST]` is none: it is one value."""
    if text.lstrip().startswith("["):
        import json

        try:
            items: list[object] = json.loads(text)
            return items
        except (ValueError, RecursionError):
            pass
    return [text]
