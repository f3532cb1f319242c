"""Commands about saved chats: keep, find, take up, name, delete, write out."""

from __future__ import annotations

import os
import time
from pathlib import Path

from nextok.cli.chat.desk import Desk
from nextok.cli.chat.export import exported
from nextok.cli.console import one_line
from nextok.cli.units import ago
from nextok.generation.errors import UsageError

_MOST = 20
"""Chats that a list shows."""


def save(desk: Desk, rest: str) -> None:
    """Every chat is kept as it goes; this gives it a name, or keeps one that was not to be."""
    keeping = desk.session.keeping
    if desk.session.resolved.journal.private:
        raise UsageError("this chat is private: nothing of it is kept")
    if not keeping.wanted or keeping.name is None:
        keeping.begin(desk.session.conversation, rest or None)
    elif rest:
        rename(desk, rest)
        return
    desk.screen.note(f"kept as {keeping.name}")


def rename(desk: Desk, rest: str) -> None:
    if not rest:
        raise UsageError("/rename takes the new name")
    keeping = desk.session.keeping
    if keeping.name is None:
        raise UsageError("nothing is kept yet: /save NAME keeps this chat")
    desk.session.forget_state()
    keeping.rename(rest)
    desk.screen.note(f"this chat is {rest} now")


def load(desk: Desk, rest: str) -> None:
    if not rest:
        raise UsageError("/load takes the name of a chat: /chats lists them")
    name = desk.folder.find(rest)
    if name == desk.session.keeping.name:
        desk.show_past(name)
        return
    desk.open_chat(name)


def new(desk: Desk, rest: str) -> None:
    desk.open_chat(None)


def chats(desk: Desk, rest: str) -> None:
    if rest:
        found = [(hit.name, one_line(hit.line)) for hit in desk.folder.search(rest.split())]
    else:
        now = time.time()
        found = [
            (one.name, f"{ago(now - one.modified)} · {one.messages} messages · {one.title}")
            for one in desk.folder.list()
        ]
    if not found:
        raise UsageError("no chat says that" if rest else "no chat is saved yet")
    desk.screen.rows(found[:_MOST])
    if len(found) > _MOST:
        desk.screen.note(f"and {len(found) - _MOST} more: nextok chats lists all")


def delete(desk: Desk, rest: str) -> None:
    if not rest:
        raise UsageError("/delete takes the name of a chat: /chats lists them")
    name = desk.folder.find(rest)
    if name != rest:  # a part of a name is enough to look, not to delete
        raise UsageError(f"only a chat that is named whole is deleted: /delete {name}")
    if name == desk.session.keeping.name:
        raise UsageError("this chat is going on: /new first, then /delete")
    desk.folder.delete(name)
    desk.session.forget_state(name)
    desk.screen.note(f"deleted {name}")


def export(desk: Desk, rest: str) -> None:
    """A file that is there is not written over."""
    if not rest:
        raise UsageError("/export takes the path of a file that ends in .md or .json")
    path = Path(os.path.expanduser(rest))
    if path.suffix not in (".md", ".json"):
        raise UsageError(f"/export writes .md and .json files, not {rest}")
    text = exported(desk.session.conversation, "json" if path.suffix == ".json" else "md")
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{rest} exists: take another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {rest}: {error.strerror}") from error
    desk.screen.note(f"wrote {rest}")
