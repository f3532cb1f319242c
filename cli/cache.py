"""`nextok cache`: what models have read of chats and prompts, on disk: listed, summed, removed."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from nextok.backends.folders import states_folder
from nextok.backends.kv_store import KvEntry, KvStore
from nextok.backends.prompt_prefixes import KIND as PROMPT
from nextok.cli.answer import json_text
from nextok.cli.chat.keeping import state_key
from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.spelling import hint
from nextok.cli.table import print_table
from nextok.cli.units import ago, size
from nextok.generation.errors import UsageError

_CHAT = state_key("")
_KINDS = {"prompt": PROMPT, "chat": _CHAT}
_COLUMNS = (
    Column(title="kind", style="bold"),
    Column(title="tokens", right=True),
    Column(title="size", right=True, style="green"),
    Column(title="last used", right=True),
    Column(title="chat", fold=True),
)


def cache(invocation: Invocation) -> int:
    """One of three things; a list, if none is named."""
    does = {"ls": _list, "size": _say_size, "clear": _clear}
    word = invocation.words[0] if invocation.words else "ls"
    if word not in does:
        known = hint(word, list(does)) or f": it does {', '.join(does)}"
        raise UsageError(f"`nextok cache` does not know {word}{known}")
    does[word](_store(), invocation)
    return ANSWERED


def _store() -> KvStore:
    """As it is, however much may be in it."""
    return KvStore(states_folder(), cap_bytes=sys.maxsize)


def _list(store: KvStore, invocation: Invocation) -> None:
    entries, output = store.entries(), invocation.resolved.output
    if output.json:
        listed = [_as_dict(entry) for entry in entries]
        plain_stdout().line(json_text({"entries": listed, "bytes": store.size_bytes()}))
    elif entries:
        now = time.time()
        foot = f"{_counted(entries)}, {size(store.size_bytes())} in all"
        print_columns(_COLUMNS, [_row(entry, now) for entry in entries], output, foot=foot)
    else:
        invocation.console.note("nothing of a chat or a prompt is kept yet")


def _say_size(store: KvStore, invocation: Invocation) -> None:
    entries = store.entries()
    kinds = {name: [one for one in entries if _kind(one) == name] for name in _KINDS}
    hashes, total = store.seen.size_bytes(), store.size_bytes()
    if invocation.resolved.output.json:
        sums = {f"{name}s": _bytes(found) for name, found in kinds.items()}
        plain_stdout().line(json_text({**sums, "hashes": hashes, "bytes": total}))
        return
    rows = [(f"{name}s", f"{size(_bytes(found))} ({_counted(found)})")
            for name, found in kinds.items()]  # fmt: skip
    print_table([*rows, ("hashes", size(hashes)), ("all", size(total))], invocation)


def _clear(store: KvStore, invocation: Invocation) -> None:
    before = store.size_bytes()
    store.clear()
    invocation.console.note(f"{size(before - store.size_bytes())} freed")


def _kind(entry: KvEntry) -> str:
    return next((name for name, start in _KINDS.items() if entry.key.startswith(start)), "other")


def _chat(entry: KvEntry) -> str | None:
    """Which chat's it is."""
    return entry.key.removeprefix(_CHAT) if _kind(entry) == "chat" else None


def _bytes(entries: Sequence[KvEntry]) -> int:
    return sum(entry.size_bytes for entry in entries)


def _counted(entries: Sequence[KvEntry]) -> str:
    return f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}"


def _row(entry: KvEntry, now: float) -> list[str]:
    return [
        _kind(entry),
        f"{entry.token_count:,}",
        size(entry.size_bytes),
        ago(now - entry.used_seconds),
        _chat(entry) or "-",
    ]


def _as_dict(entry: KvEntry) -> Mapping[str, object]:
    used = datetime.fromtimestamp(round(entry.used_seconds), timezone.utc)
    return {
        "kind": _kind(entry),
        "chat": _chat(entry),
        "tokens": entry.token_count,
        "bytes": entry.size_bytes,
        "last_used": used.isoformat(),
    }
