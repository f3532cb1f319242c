"""What Tab offers in the chat: commands, and what a command may be followed by."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from nextok.cli.chat import slash
from nextok.cli.chat.chat_settings import SETTABLE
from nextok.cli.chat.desk import Desk
from nextok.cli.chat.editor import Suggestion
from nextok.cli.chat.slash_context import VIEWS
from nextok.cli.completion import complete_model
from nextok.cli.flag_table import FLAGS

_Source = Callable[[str], Iterable[tuple[str, str]]]
"""From the beginning of a word to the words that begin so, each with a few words about it."""


class Completion:
    """Called with the text before the cursor. Messages are not completed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._sources: dict[str, _Source] = {
            "model": lambda word: [(name, "") for name in complete_model(word)],
            "path": _paths,
            "chat": self._chats,
            "branch": self._branches,
            "setting": lambda word: [(one.title, one.help) for one in FLAGS if one.key in SETTABLE],
            "view": lambda word: [(name, "") for name in VIEWS],
        }

    def __call__(self, text: str) -> Iterable[Suggestion]:
        if not text.startswith("/") or "\n" in text:
            return []
        name, gap, rest = text.partition(" ")
        if not gap:
            found = [("/" + one.name, one.help) for one in slash.COMMANDS]
            return _beginning(text, found)
        takes = next((one.takes for one in slash.COMMANDS if name[1:] in one.names.split()), "")
        source = self._sources.get(takes)
        word = rest.rpartition(" ")[2] if takes == "path" else rest
        return [] if source is None else _beginning(word, source(word))

    def _chats(self, word: str) -> Iterable[tuple[str, str]]:
        return [(one.name, one.title) for one in self._desk.folder.list()]

    def _branches(self, word: str) -> Iterable[tuple[str, str]]:
        branches = self._desk.session.conversation.branches()
        return [(one.name, one.last) for one in branches]


def _beginning(word: str, found: Iterable[tuple[str, str]]) -> Iterator[Suggestion]:
    for text, meta in found:
        if text.startswith(word):
            yield Suggestion(text=text, start_position=-len(word), meta=meta[:60])


def _paths(word: str) -> Iterator[tuple[str, str]]:
    typed, beginning = os.path.split(word)
    prefix = word[: len(word) - len(beginning)]
    folder = Path(os.path.expanduser(typed) or ".")
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") and not beginning.startswith("."):
            continue
        yield prefix + entry.name + ("/" if entry.is_dir() else ""), ""
