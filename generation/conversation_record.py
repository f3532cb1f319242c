"""A change of a conversation as a record: a mapping that JSON can hold, whose "type" says which.

    message  id parent role content [reasoning finish figures]   said; the head moves there
    head     at                  the head moves, and with it the branch it is on
    branch   name at             a new branch that ends at a message, and a switch to it
    switch   name                to another branch
    window   start               older messages were dropped for room
    system   text                the system message; null: none
    model    name                whom the user talks to
    setting  name value          null: back to the default

Promises that a field read from a record is of its type: ValueError otherwise. Refuses to know
whether a record fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from nextok.generation.message_tree import ASSISTANT, USER, Entry

Record: TypeAlias = Mapping[str, object]


def message_record(entry: Entry) -> dict[str, object]:
    """The record that adds an entry; what the entry has not is left out."""
    record: dict[str, object] = {
        "type": "message",
        "id": entry.id,
        "parent": entry.parent,
        "role": entry.role,
        "content": entry.content,
    }
    extras = {"reasoning": entry.reasoning, "finish": entry.finish, "figures": dict(entry.figures)}
    return record | {name: value for name, value in extras.items() if value}


def entry_of(record: Record) -> Entry:
    """The entry that a message record adds. Its parent came before it."""
    number, parent = _number(record, "id"), optional_number(record, "parent")
    if not (parent or 0) < number:
        raise _wrong(record, "parent", "below its id")
    role = text(record, "role")
    if role not in (USER, ASSISTANT):
        raise _wrong(record, "role", f"{USER} or {ASSISTANT}")
    return Entry(
        id=number,
        parent=parent,
        role=role,
        content=text(record, "content"),
        reasoning=optional_text(record, "reasoning") or "",
        finish=optional_text(record, "finish"),
        figures=_figures(record),
    )


def text(record: Record, field: str) -> str:
    """A field that must be there."""
    value = record.get(field)
    if not isinstance(value, str):
        raise _wrong(record, field, "a text")
    return value


def optional_text(record: Record, field: str) -> str | None:
    """A field that may be null or missing."""
    return None if record.get(field) is None else text(record, field)


def optional_number(record: Record, field: str) -> int | None:
    """The id of a message; null or missing is the place before all of them."""
    return None if record.get(field) is None else _number(record, field)


def _number(record: Record, field: str) -> int:
    value: Any = record.get(field)
    if type(value) is not int or value < 1:  # isinstance would take True for 1
        raise _wrong(record, field, "a number from 1")
    return value


def _figures(record: Record) -> Mapping[str, object]:
    figures = record.get("figures", {})
    if not isinstance(figures, Mapping):
        raise _wrong(record, "figures", "an object")
    return figures


def _wrong(record: Record, field: str, expected: str) -> ValueError:
    found = f"{record.get(field)!r:.40}"
    return ValueError(f"{field} of a {record['type']} record must be {expected}, not {found}")
