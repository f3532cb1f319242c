"""`nextok chats`: the saved chats listed, searched, written out, renamed, deleted."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from datetime import datetime, timezone

from nextok.backends.chat_file import read_records
from nextok.backends.chat_folder import ChatFolder, ChatInfo
from nextok.backends.kv_store import KvStore
from nextok.cli.answer import json_text
from nextok.cli.chat.command import chat_folder, kv_store
from nextok.cli.chat.export import exported
from nextok.cli.chat.keeping import damage, model_title, state_key
from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED, FAILED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.question import consents
from nextok.cli.units import ago, size
from nextok.generation.conversation import Conversation
from nextok.generation.errors import UsageError

_LISTED = (
    Column(title="name", style="bold", fold=True),
    Column(title="messages", right=True),
    Column(title="size", right=True),
    Column(title="last said", right=True),
    Column(title="model", fold=True),
    Column(title="begins", fold=True),
)
_FOUND = (Column(title="name", style="bold", fold=True), Column(title="says", fold=True))


def chats(invocation: Invocation) -> int:
    """One thing at a time: a list, unless a flag says otherwise."""
    folder, asked = chat_folder(), invocation.resolved.chats
    if sum((asked.export is not None, asked.delete is not None, asked.rename)) > 1:
        raise UsageError("--export, --delete and --rename exclude each other: choose one")
    if asked.export is None and _is_typed("format", invocation):
        raise UsageError("--format goes with --export NAME: a list is JSON with --json")
    if asked.rename:
        return _rename(folder, invocation)
    if asked.export is not None or asked.delete is not None:
        _refuse_words(invocation)
    if asked.export is not None:
        return _export(folder, folder.find(asked.export), invocation)
    if asked.delete is not None:
        return _delete(folder, asked.delete, invocation)
    if invocation.words:
        return _search(folder, invocation)
    return _list(folder, invocation)


def _list(folder: ChatFolder, invocation: Invocation) -> int:
    found = folder.list()
    if invocation.resolved.output.json:
        plain_stdout().line(json_text({"chats": [_as_dict(one) for one in found]}))
    elif found:
        now = time.time()
        foot = f"{len(found)} chat{'' if len(found) == 1 else 's'}"
        rows = [_row(one, now) for one in found]
        print_columns(_LISTED, rows, invocation.resolved.output, foot=foot)
    else:
        invocation.console.note("no chat is saved yet: nextok chat begins one")
    return ANSWERED


def _search(folder: ChatFolder, invocation: Invocation) -> int:
    hits = list(folder.search(" ".join(invocation.words).split()))
    if invocation.resolved.output.json:
        listed = [{"name": hit.name, "role": hit.role, "line": hit.line} for hit in hits]
        plain_stdout().line(json_text({"chats": listed}))
    elif hits:
        rows = [[hit.name, hit.line] for hit in hits]
        print_columns(_FOUND, rows, invocation.resolved.output)
    else:
        invocation.console.note("no saved chat says that")
    return ANSWERED if hits else FAILED


def _export(folder: ChatFolder, name: str, invocation: Invocation) -> int:
    conversation = Conversation()
    reading = read_records(folder.path(name), conversation.apply)
    if reading.bad_count:
        invocation.console.warning(f"{name}: {damage(reading)}")
    form, resolved = invocation.resolved.chats.format, invocation.resolved
    if resolved.output.json and not _is_typed("format", invocation):
        form = "json"
    plain_stdout().text(exported(conversation, form))
    return ANSWERED


def _delete(folder: ChatFolder, asked: str, invocation: Invocation) -> int:
    """By a part of its name only if somebody agrees to what is found."""
    name = folder.find(asked)
    command = f"nextok chats --delete {shlex.quote(name)} --yes"
    if invocation.resolved.hub.yes and name != asked:
        raise UsageError(f"with --yes a chat is named whole: {command}")
    if not consents(f"Delete {name}?", invocation, command=command):
        return FAILED
    folder.delete(name)
    kv_store(0).remove(state_key(name))
    invocation.console.note(f"deleted {name}")
    return ANSWERED


def _rename(folder: ChatFolder, invocation: Invocation) -> int:
    if len(invocation.words) != 2:
        raise UsageError("--rename takes the old and the new name: nextok chats --rename OLD NEW")
    old, new = invocation.words
    name = folder.find(old)
    folder.rename(name, new)
    _move_state(kv_store(invocation.resolved.chat.state_cap), state_key(name), state_key(new))
    invocation.console.note(f"{name} is {new} now")
    return ANSWERED


def _move_state(store: KvStore, old: str, new: str) -> None:
    """What the model has read of a chat stays with it."""
    entry = store.peek(old)
    state = None if entry is None else store.get(old, entry.identity)
    store.remove(old)
    if entry is not None and state is not None:
        store.put(new, entry.identity, state.tokens, state.state)


def _is_typed(key: str, invocation: Invocation) -> bool:
    return invocation.resolved.origin(key) == "flag"


def _refuse_words(invocation: Invocation) -> None:
    if invocation.words:
        raise UsageError(f"one chat at a time: leave out {' '.join(invocation.words)!r}")


def _row(one: ChatInfo, now: float) -> list[str]:
    return [
        one.name,
        str(one.messages),
        size(one.size_bytes),
        ago(now - one.modified),
        model_title(one.model or "-"),
        one.title or "-",
    ]


def _as_dict(one: ChatInfo) -> Mapping[str, object]:
    modified = datetime.fromtimestamp(one.modified, timezone.utc)
    return {
        "name": one.name,
        "title": one.title,
        "messages": one.messages,
        "model": one.model,
        "bytes": one.size_bytes,
        "modified": modified.isoformat(timespec="seconds"),
    }
