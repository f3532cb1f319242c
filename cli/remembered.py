"""What nextok keeps of what was said and done: each kind of it, where, and how it goes away.

Models are no part of it, nor is what is known of their files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.draft_file import is_draft
from nextok.backends.folders import chats_folder, input_history, states_folder
from nextok.backends.journal import user_journal
from nextok.backends.shown_text import shown
from nextok.cli.chat.command import chat_folder, kv_store
from nextok.generation.errors import OutputError, UsageError

_CHAT = ".jsonl"


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """One kind."""

    name: str
    """As the command line calls it."""
    what: str
    """As a sentence calls it."""
    path: Path
    size_bytes: int
    forget: Callable[[], None]
    """Takes it away. Raises NextokError for what must stay, after the rest is gone."""


def remembered() -> Sequence[Remembered]:
    """All kinds there are, the empty ones too."""
    journal, chats, history = user_journal(), chats_folder(), input_history()
    states = kv_store(0)
    return (
        Remembered(
            name="journal",
            what="the journal of generations",
            path=journal.path,
            size_bytes=journal.size_bytes(),
            forget=journal.forget,
        ),
        Remembered(
            name="chats",
            what="saved chats",
            path=chats,
            size_bytes=sum(map(_size, _files(chats))),
            forget=lambda: _forget_chats(chats),
        ),
        Remembered(
            name="history",
            what="the input history",
            path=history,
            size_bytes=sum(map(_size, _history(history))),
            forget=lambda: _remove(_history(history)),
        ),
        Remembered(
            name="states",
            what="KV states",
            path=states_folder(),
            size_bytes=states.size_bytes(),
            forget=states.clear,
        ),
    )


def _forget_chats(folder: Path) -> None:
    """Every chat and what it once was; one that is open somewhere stays."""
    stay: UsageError | None = None
    for path in _files(folder):
        if path.name.endswith(_CHAT):
            try:
                chat_folder().delete(path.name.removesuffix(_CHAT))
            except UsageError as error:  # in use, or gone meanwhile
                stay = error if path.exists() else stay
        else:
            _remove([path])
    if stay is not None:
        raise stay


def _files(folder: Path) -> Sequence[Path]:
    """The chats in it, their backups, and what was never finished."""
    with suppress(OSError):
        return [
            path
            for path in sorted(folder.iterdir())
            if path.name.endswith(_CHAT) or f"{_CHAT}.bak" in path.name or is_draft(path.name)
        ]
    return []


def _history(path: Path) -> Sequence[Path]:
    """The file, wherever it really is, and what was never finished of it."""
    whole = path.resolve()
    return [one for one in (whole, *whole.parent.glob(".history-*")) if one.is_file()]


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{shown(path)} cannot be removed: {error.strerror}") from error


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0
