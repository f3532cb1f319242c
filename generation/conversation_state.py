"""What a conversation's records add up to: its messages, its branches, its settings.

Promises that a record either makes its change as a whole or is refused with a ValueError that
says what is wrong, the state as it was; and that a lost record costs no more than what it said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nextok.generation.conversation_record import (
    Record,
    entry_of,
    message_record,
    optional_number,
    optional_text,
    text,
)
from nextok.generation.message_tree import USER, Entry, MessageTree

MAIN = "main"
LOST = "[lost]"
"""Stands in for a message whose record is missing."""
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

    def tips(self) -> dict[str, int | None]:
        """All paths by name: the branches, then "#12" for a message 12 that none of them reaches.

        Every message is on one of them.
        """
        named = set(self.branches.values())
        unnamed = {f"#{leaf}": leaf for leaf in self.tree.leaves() if leaf not in named}
        return {**self.branches, **unnamed}

    def unused_name(self) -> str:
        """For a branch that the user has not named."""
        number = 2
        while f"branch-{number}" in self.branches:
            number += 1
        return f"branch-{number}"

    def apply(self, record: Record) -> None:
        """Make the change that a record tells of."""
        match record.get("type"):
            case "message":
                self._add_message(entry_of(record))
            case "head":
                self.branches[self.current] = self._place(record, "at")
            case "branch":
                self._add_branch(text(record, "name"), self._place(record, "at"))
            case "switch":
                self._switch(text(record, "name"))
            case "window":
                self._start_window(self._place(record, "start"))
            case "system":
                self.system = optional_text(record, "text")
            case "model":
                self.model = optional_text(record, "name")
            case "setting":
                self._set(text(record, "name"), optional_text(record, "value"))
            case other:
                raise ValueError(f"no type of record: {other!r:.40}")

    def records(self) -> Iterator[dict[str, object]]:
        """A short list of records that makes this state."""
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
        if self.branches[on] != self.tree.latest:  # where the messages have left it
            yield {"type": "head", "at": self.branches[on]}
        for on in others:
            yield {"type": "branch", "name": on, "at": self.branches[on]}
        if on != self.current:
            yield {"type": "switch", "name": self.current}

    # One change each: first all that may be wrong, then the change.

    def _add_message(self, entry: Entry) -> None:
        if entry.id in self.tree:
            raise ValueError(f"there is a message {entry.id} already")
        if entry.parent not in self.tree:
            entry = self._adopted(entry, entry.parent)
        self.tree.add(entry)
        self.branches[self.current] = entry.id

    def _adopted(self, entry: Entry, lost: int | None) -> Entry:
        """A message whose parent was lost: it goes on from the head, as far as we know."""
        turn = self.tree.whose_turn(self.head)
        if lost is None or entry.role == turn:
            return replace(entry, parent=self.head)
        self.tree.add(Entry(id=lost, parent=self.head, role=turn, content=LOST))
        return entry

    def _add_branch(self, name: str, place: int | None) -> None:
        if not _BRANCH_NAME.match(name):
            raise ValueError(
                f"a branch name is up to 40 letters, digits, '.', '_' and '-', not {name!r}"
            )
        if name in self.branches:
            raise ValueError(f"there is a branch {name!r} already: take another name")
        self.branches[name] = place
        self.current = name

    def _switch(self, name: str) -> None:
        if name not in self.branches:
            raise ValueError(f"there is no branch {name!r}")
        self.current = name

    def _start_window(self, start: int | None) -> None:
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
        place = optional_number(record, field)
        if place not in self.tree:
            raise ValueError(f"there is no message {place}")
        return place
