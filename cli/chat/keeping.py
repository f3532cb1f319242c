"""Where a conversation is kept while it goes on: its file, and what its model is called there.

A file appears with the first message. When it cannot be written the conversation goes on, and
that is said once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from nextok.backends.chat_file import ChatFile, NameTaken, Reading, read_records
from nextok.cli.console import Console
from nextok.generation.errors import ModelError, OutputError, UsageError

if TYPE_CHECKING:
    from nextok.backends.chat_folder import ChatFolder
    from nextok.cli.invocation import Invocation
    from nextok.cli.resolution import Resolved
    from nextok.generation.conversation import Conversation

_MOST_NAMED = 5
"""Damaged lines whose numbers are said."""


class Keeping:
    """Records in, lines out."""

    def __init__(self, folder: ChatFolder, console: Console, now: Callable[[], datetime]) -> None:
        self.name: str | None = None
        """What the chat is called on disk; None as long as it is not there."""
        self.wanted = True
        """Whether it is to be kept at all."""
        self._folder = folder
        self._console = console
        self._now = now
        self._file: ChatFile | None = None
        self._is_held = False
        self._waiting: list[Mapping[str, object]] = []
        """What was recorded before anything was said, or before `release`."""

    def another(self) -> Keeping:
        """For another chat, kept in the same way."""
        keeping = Keeping(self._folder, self._console, self._now)
        keeping.wanted = self.wanted
        return keeping

    def record(self, record: Mapping[str, object]) -> None:
        """One change of the conversation."""
        if not self.wanted:
            return
        self._waiting.append(record)
        if self._file is None and record.get("type") != "message":
            return
        if not self._is_held:
            self._try_to_write(str(record.get("content")))

    def hold(self) -> None:
        """Write nothing until `release`."""
        self._is_held = True

    def release(self, first_words: str) -> None:
        """Write what was recorded meanwhile. first_words: a new chat is named after them."""
        self._is_held = False
        if self.wanted:
            self._try_to_write(first_words)

    def _try_to_write(self, first_words: str) -> None:
        try:
            self._write(first_words)
        except OutputError as error:
            self.wanted = False
            self._console.warning(f"{error}; the chat goes on without being saved")

    def _write(self, first_words: str) -> None:
        """What waits, into the chat's file: a new one if it has none. Raises OutputError."""
        while self._waiting:
            if self._file is None:
                self._begin_file(self._waiting[0], first_words)
            else:
                self._file.append(self._waiting[0])
            del self._waiting[0]

    def _begin_file(self, record: Mapping[str, object], first_words: str) -> None:
        """With its first record in it. Whoever begins another one with the same words at the
        same moment may be faster: the next name is tried then.
        """
        while self._file is None:
            name = self._folder.new_name(first_words, self._now())
            file = ChatFile(self._folder.path(name), None)
            try:
                file.append(record)
            except NameTaken:
                continue
            self._file, self.name = file, name

    def take_up(self, name: str, conversation: Conversation) -> None:
        """Read a saved chat into an empty conversation and go on in its file.

        What could not be read is said. Raises UsageError, and ChatInUse for a second opener: not
        if nothing is to be kept, for then the file is only read.
        """
        path = self._folder.path(name)
        if self.wanted:
            self._file = ChatFile.open(path)
            reading = self._file.read(conversation.apply)
        else:
            reading = read_records(path, conversation.apply)
        self.name = name
        if reading.bad_count:
            self._console.warning(f"{path}: {damage(reading)}")

    def begin(self, conversation: Conversation, name: str | None) -> None:
        """Keep a conversation in a file of its own, all that was said so far included.

        Raises UsageError for a bad or a taken name, OutputError.
        """
        file = None if name is None else ChatFile.create(self._folder.path(name))
        self.close()
        self._file, self.name, self.wanted = file, name, True
        self._waiting = list(conversation.records())
        if conversation.head is not None:
            self._write(conversation.title)

    def rename(self, name: str) -> None:
        """Raises UsageError for a bad or a taken name, and when nothing is kept."""
        if self._file is None:
            raise UsageError("this chat is not kept: /save NAME keeps it")
        self._file.rename(self._folder.path(name))
        self.name = name

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file = None


def damage(reading: Reading) -> str:
    """What to say of the bad lines of a file."""
    lines = ", ".join(map(str, reading.bad_lines[:_MOST_NAMED]))
    more = ", …" if reading.bad_count > _MOST_NAMED else ""
    kept = f"; the original is {reading.backup}" if reading.backup else ""
    count = f"{reading.bad_count} damaged line{'' if reading.bad_count == 1 else 's'}"
    return f"{count} left out ({lines}{more}){kept}"


def model_of(conversation: Conversation, invocation: Invocation) -> str | None:
    """The model a saved chat was with, unless one was asked for now.

    Raises ModelError when that is a file which is gone.
    """
    model = conversation.model
    if model is None or invocation.resolved.origin("model") == "flag":
        return None
    if os.path.isabs(model) and not os.path.exists(model):
        raise ModelError(f"the model of this chat is gone: {model}: -m names another one")
    return model


def noted_model(resolved: Resolved, name: str) -> str:
    """How a chat notes its model, which is called `name`: so that any folder finds it again."""
    asked = resolved.engine.model
    if asked is None or asked in resolved.config.aliases:
        return asked or name
    path = os.path.expanduser(asked)
    return os.path.abspath(path) if os.path.isfile(path) and asked != name else asked


def model_title(noted: str) -> str:
    """What a person calls a noted model: a file by its name alone."""
    return os.path.basename(noted).removesuffix(".gguf") if os.path.isabs(noted) else noted


def state_key(chat: str) -> str:
    """What the KV state of a chat is kept under."""
    return f"chat-{chat}"
