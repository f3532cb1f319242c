"""What Tab offers in the chat: commands, and what a command may be followed by."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from nextok.cli.chat import slash
from nextok.cli.chat.chat_settings import can_change, setting_called
from nextok.cli.chat.desk import Desk
from nextok.cli.chat.editor import Suggestion
from nextok.cli.chat.slash_context import VIEWS
from nextok.cli.completion import complete_model
from nextok.cli.flag_table import FLAGS
from nextok.cli.flag_types import Choice
from nextok.generation.errors import UsageError

_Source = Callable[[str], Iterable[tuple[str, str]]]
"""From the beginning of a word to the words that may begin so, each with a few words about it."""
_MOST_META = 60
"""Characters."""
_LAST_PATH = re.compile(r"(?:\\.|[^ \\])*\\?\Z", re.DOTALL)
_NEEDS_ESCAPE = re.compile(r"([\s\\'\"])")


class Completion:
    """Called with the text before the cursor. Messages are not completed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._sources: dict[slash.Takes, _Source] = {
            "model": lambda word: [(name, "") for name in complete_model(word)],
            "file": _files,
            "chat": self._chats,
            "branch": self._branches,
            "setting": _settings,
            "view": lambda word: [(name, "") for name in VIEWS],
            "think": lambda word: [(name, "") for name in ("show", "dim", "hide")],
        }

    def __call__(self, text: str) -> Iterable[Suggestion]:
        if not text.startswith("/") or "\n" in text:
            return []
        name, gap, rest = text.partition(" ")
        if not gap:
            return _beginning(text, _commands())
        known = (one.takes for one in slash.COMMANDS if name[1:] in one.names.split())
        takes: slash.Takes = next(known, "")
        if takes == "files":
            return _last_of_several(rest)
        if takes == "setting" and " " in rest:
            setting, _, value = rest.partition(" ")
            return _beginning(value, _values(setting))
        source = self._sources.get(takes)
        return [] if source is None else _beginning(rest, source(rest))

    def _chats(self, word: str) -> Iterable[tuple[str, str]]:
        return [(one.name, one.title) for one in self._desk.folder.list()]

    def _branches(self, word: str) -> Iterable[tuple[str, str]]:
        branches = self._desk.session.conversation.branches()
        return [(one.name, one.last) for one in branches]


def _beginning(word: str, found: Iterable[tuple[str, str]]) -> Iterator[Suggestion]:
    for text, meta in found:
        if text.startswith(word):
            yield Suggestion(text=text, start_position=-len(word), meta=meta[:_MOST_META])


def _commands() -> Iterator[tuple[str, str]]:
    """Those with other names too come under each of them, the common one first."""
    names = [one.names.split() for one in slash.COMMANDS]
    for one, known in zip(slash.COMMANDS, names, strict=True):
        yield "/" + known[0], one.help
    for one, known in zip(slash.COMMANDS, names, strict=True):
        yield from (("/" + name, one.help) for name in known[1:] if name.isalpha())


def _settings(word: str) -> Iterator[tuple[str, str]]:
    return ((one.title, one.help) for one in FLAGS if can_change(one))


def _values(setting: str) -> Iterator[tuple[str, str]]:
    """The words that a setting may be, if it is one of a closed set."""
    try:
        found, _ = setting_called(setting)
    except UsageError:
        return
    if found.switch:
        yield from (("on", ""), ("off", ""))
    elif isinstance(found.kind, Choice):
        yield from ((word, "") for word in found.kind.values)


def _last_of_several(rest: str) -> Iterator[Suggestion]:
    """The last of several paths, in which a backslash stands before a space."""
    found = _LAST_PATH.search(rest)
    typed = found[0] if found is not None else ""
    word = re.sub(r"\\(.)", r"\1", typed).removesuffix("\\")
    for path, meta in _files(word):
        if path.startswith(word):
            escaped = _NEEDS_ESCAPE.sub(r"\\\1", path)
            yield Suggestion(text=escaped, start_position=-len(typed), meta=meta)


def _files(word: str) -> Iterator[tuple[str, str]]:
    typed, beginning = os.path.split(word)
    prefix = word[: len(word) - len(beginning)]
    folder = Path(os.path.expanduser(typed) or ".")
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(".") or beginning.startswith("."):
            yield prefix + entry.name + ("/" if entry.is_dir() else ""), ""
