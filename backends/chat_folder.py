"""The folder of the saved chats: one file each, called NAME.jsonl.

Promises that no chat takes the place of another, and that one which is open somewhere is neither
renamed nor deleted. Knows nothing of KV states: who renames or deletes has to see to them.
"""

from __future__ import annotations

import difflib
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from nextok.backends.chat_file import ChatFile
from nextok.backends.chat_info import ChatInfo, ChatMatch, chat_info, matches
from nextok.backends.chat_lock import open_locked
from nextok.backends.chat_mending import backups
from nextok.backends.chat_names import check_name, is_valid, readable_name, unwritable
from nextok.backends.shown_text import shown
from nextok.generation.errors import OutputError, UsageError

__all__ = ["ChatFolder", "ChatInfo", "ChatMatch"]

_ENDING = ".jsonl"
_MOST_NAMES = 6
_MOST_NEAREST = 3


class ChatFolder:
    """Its chats by their names. The folder is made by the first chat that is written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Where a chat of this name is, or would be. UsageError for a name it cannot have."""
        check_name(name)
        return self._folder / f"{name}{_ENDING}"

    def new_name(self, first_words: str, now: datetime) -> str:
        """A name that is free: the date and the first words, `2026-11-29-why-is-the-sky-blue`."""
        return readable_name(first_words, now, lambda name: os.path.lexists(self.path(name)))

    def last(self) -> str | None:
        """The name of the chat that was written last."""
        return next(iter(self._names()), None)

    def find(self, text: str) -> str:
        """The chat that is called so, or the only one with this in its name.

        UsageError when there are several, which it names, or none: then it names the nearest.
        """
        names = self._names()
        if text in names:
            return text
        wanted = _folded(text)
        alike = [name for name in names if _folded(name) == wanted]
        found = alike or [name for name in names if wanted and wanted in _folded(name)]
        if len(found) == 1:
            return found[0]
        raise UsageError(_several(text, found) if found else _none(text, names))

    def search(self, words: Sequence[str]) -> Iterator[ChatMatch]:
        """Every message with all the words in it, whatever their case; newest chats first."""
        for name in self._names():
            with suppress(UsageError):  # deleted meanwhile, or not ours to read
                yield from matches(self.path(name), words)

    def rename(self, old: str, new: str) -> None:
        """Raises UsageError when there is no such chat or the name is taken, ChatInUse,
        OutputError.
        """
        target = self.path(new)
        with ChatFile.open(self.path(old)) as file:
            file.rename(target)

    def delete(self, name: str) -> None:
        """And its backups. Raises UsageError when there is no such chat, ChatInUse, OutputError."""
        path = self.path(name)
        descriptor = open_locked(path)
        try:
            for backup in backups(path):
                backup.unlink()
            path.unlink()
        except OSError as error:
            raise OutputError(unwritable(path, error)) from error
        finally:
            os.close(descriptor)

    def list(self) -> Sequence[ChatInfo]:
        """All chats, the one written last first. Looks through every file."""
        found = []
        for name in self._names():
            with suppress(UsageError):
                found.append(chat_info(self.path(name)))
        return found

    def _names(self) -> Sequence[str]:
        """Those written last come first."""
        found = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                name = entry.name.removesuffix(_ENDING)
                with suppress(OSError):
                    if name != entry.name and is_valid(name) and entry.is_file():
                        found.append((entry.stat().st_mtime_ns, name))
        return [name for _, name in sorted(found, reverse=True)]


def _folded(text: str) -> str:
    """Equal for names that look the same but for their case and what is between their words."""
    words = unicodedata.normalize("NFC", text).casefold().replace("-", " ").split()
    return "-".join(words)


def _several(text: str, found: Sequence[str]) -> str:
    names = ", ".join(map(shown, found[:_MOST_NAMES]))
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return f"{shown(text)!r} may be any of the chats {names}{more}: name one of them whole"


def _none(text: str, names: Sequence[str]) -> str:
    if not names:
        return f"no chat is called {shown(text)!r}: none is saved yet"
    near = sorted(names, key=lambda name: _likeness(_folded(text), _folded(name)), reverse=True)
    nearest = ", ".join(map(shown, near[:_MOST_NEAREST]))
    return f"no chat is called {shown(text)!r}: the nearest are {nearest}"


def _likeness(text: str, name: str) -> float:
    """From 0 to 1: of the whole, or the mean of each word's best."""
    parts = name.split("-")
    words = [max(_ratio(word, part) for part in parts) for word in text.split("-")]
    return max(_ratio(text, name), sum(words) / len(words))


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
