"""What a conversation's records add up to: its messages, its branches, its settings.

Promises that every record either changes the state as a whole or is refused with a ValueError
that says what is wrong, the state as it was. The types of records:

    message  id parent role content [reasoning finish figures]   said; the head moves there
    head     at                  the head moves, and with it the branch it is on
    branch   name at             a new branch that ends at a message, and a switch to it
    switch   name                to another branch
    window   start               older messages were dropped for room
    system   text                the system message; null: none
    model    name                whom the user talks to
    setting  name value          null: back to the default
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from nextok.generation.message_tree import USER, Entry, MessageTree

Record: TypeAlias = Mapping[str, object]

MAIN = "main"
_BRANCH_NAME = re.compile(r"\w[\w.-]{0,39}\Z")


class ConversationState:
    """Read it freely; `apply` is the only way to change it."""

    def __init__(self) -> None:
        self.tree = MessageTree()
        self.branches: dict[str, int | None] = {MAIN: None}
        """Where each ends: the id of its last message, None before the first."""
        self.current = MAIN
        self.window_starts: list[int] = []
        """Messages that a window began with; of those on a path, the last one counts."""
        self.system: str | None = None
        self.model: str | None = None
        self.settings: dict[str, str] = {}

    @property
    def head(self) -> int | None:
        """The last message of the current branch."""
        return self.branches[self.current]

    def apply(self, record: Record) -> None:
        """Make the change that a record tells of."""
        match record.get("type"):
            case "message":
                self._add_message(record)
            case "head":
                self.branches[self.current] = self._place(record, "at")
            case "branch":
                self._add_branch(record)
            case "switch":
                self.current = self._branch_name(record)
            case "window":
                self._start_window(record)
            case "system":
                self.system = _optional_text(record, "text")
            case "model":
                self.model = _optional_text(record, "name")
            case "setting":
                self._set(_text(record, "name"), _optional_text(record, "value"))
            case other:
                raise ValueError(f"no type of record: {other!r}")

    def records(self) -> Iterator[dict[str, object]]:
        """The shortest list of records that makes this state."""
        if self.system is not None:
            yield {"type": "system", "text": self.system}
        if self.model is not None:
            yield {"type": "model", "name": self.model}
        for name, value in self.settings.items():
            yield {"type": "setting", "name": name, "value": value}
        yield from map(message_record, self.tree)
        yield from self._branch_records()
        for start in self.window_starts:
            yield {"type": "window", "start": start}

    def _branch_records(self) -> Iterator[dict[str, object]]:
        on, *others = self.branches
        if self.branches[on] != (len(self.tree) or None):  # where the messages have left it
            yield {"type": "head", "at": self.branches[on]}
        for on in others:
            yield {"type": "branch", "name": on, "at": self.branches[on]}
        if on != self.current:
            yield {"type": "switch", "name": self.current}

    # One change each: first all that may be wrong with the record, then the change.

    def _add_message(self, record: Record) -> None:
        entry = _entry(record)
        self.tree.add(entry)
        self.branches[self.current] = entry.id

    def _add_branch(self, record: Record) -> None:
        name, place = _text(record, "name"), self._place(record, "at")
        if not _BRANCH_NAME.match(name):
            raise ValueError(
                f"a branch name is up to 40 letters, digits, '.', '_' and '-', not {name!r}"
            )
        if name in self.branches:
            raise ValueError(f"there is a branch {name!r} already: take another name")
        self.branches[name] = place
        self.current = name

    def _start_window(self, record: Record) -> None:
        start = self._place(record, "start")
        if start is None or self.tree[start].role != USER:
            raise ValueError("a window begins with a message of the user's")
        if start in self.window_starts:
            self.window_starts.remove(start)
        self.window_starts.append(start)

    def _set(self, name: str, value: str | None) -> None:
        if value is None:
            self.settings.pop(name, None)
        else:
            self.settings[name] = value

    def _place(self, record: Record, field: str) -> int | None:
        place = _optional_number(record, field)
        if place not in self.tree:
            raise ValueError(f"there is no message {place}")
        return place

    def _branch_name(self, record: Record) -> str:
        name = _text(record, "name")
        if name not in self.branches:
            raise ValueError(f"there is no branch {name!r}")
        return name


def message_record(entry: Entry) -> dict[str, object]:
    """An entry as the record that adds it; what it has not is left out."""
    record: dict[str, object] = {
        "type": "message",
        "id": entry.id,
        "parent": entry.parent,
        "role": entry.role,
        "content": entry.content,
    }
    extras = {"reasoning": entry.reasoning, "finish": entry.finish, "figures": dict(entry.figures)}
    return record | {name: value for name, value in extras.items() if value}


def _entry(record: Record) -> Entry:
    number = _optional_number(record, "id")
    if number is None:
        raise ValueError("a message needs an id")
    figures = record.get("figures", {})
    if not isinstance(figures, Mapping):
        raise _wrong(record, "figures", "an object")
    return Entry(
        id=number,
        parent=_optional_number(record, "parent"),
        role=_text(record, "role"),
        content=_text(record, "content"),
        reasoning=_optional_text(record, "reasoning") or "",
        finish=_optional_text(record, "finish"),
        figures=figures,
    )


def _text(record: Record, field: str) -> str:
    value = record.get(field)
    if not isinstance(value, str):
        raise _wrong(record, field, "a text")
    return value


def _optional_text(record: Record, field: str) -> str | None:
    return None if record.get(field) is None else _text(record, field)


def _optional_number(record: Record, field: str) -> int | None:
    value: Any = record.get(field)
    if value is not None and type(value) is not int:  # True would pass for 1
        raise _wrong(record, field, "a whole number")
    return value


def _wrong(record: Record, field: str, expected: str) -> ValueError:
    return ValueError(
        f"{field} of a {record['kind']} record must be {expected}, not {record.get(field)!r:.40}"
    )
