"""Where a conversation is kept while it goes on: its file, and the KV state beside it.

A file appears with the first message. When it cannot be written the conversation goes on, and
that is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from nextok.backends.chat_file import ChatFile
from nextok.cli.console import Console
from nextok.generation.errors import OutputError

if TYPE_CHECKING:
    from nextok.backends.chat_folder import ChatFolder
    from nextok.cli.invocation import Invocation
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
        self._waiting: list[Mapping[str, object]] = []
        """What was recorded before anything was said."""

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
        try:
            self._write(record)
        except OutputError as error:
            self.wanted = False
            self._console.warning(f"{error}; the chat goes on without being saved")

    def _write(self, record: Mapping[str, object]) -> None:
        if self._file is None:
            self.name = self.name or self._folder.new_name(str(record["content"]), self._now())
            self._file = ChatFile.create(self._folder.path(self.name))
        while self._waiting:
            self._file.append(self._waiting[0])
            del self._waiting[0]

    def take_up(self, name: str, conversation: Conversation) -> None:
        """Read a saved chat into an empty conversation and go on in its file.

        What could not be read is said. Raises UsageError, and ChatInUse for a second opener.
        """
        path = self._folder.path(name)
        self._file, self.name = ChatFile.open(path), name
        reading = self._file.read(conversation.apply)
        if reading.bad_count:
            lines = ", ".join(map(str, reading.bad_lines[:_MOST_NAMED]))
            more = ", …" if reading.bad_count > _MOST_NAMED else ""
            kept = f"; the original is {reading.backup}" if reading.backup else ""
            self._console.warning(
                f"{path}: {reading.bad_count} damaged lines left out ({lines}{more}){kept}"
            )

    def begin(self, conversation: Conversation, name: str | None) -> None:
        """Keep a conversation, all that was said so far included. Raises UsageError."""
        if name is not None:
            self._file = ChatFile.create(self._folder.path(name))
        self.wanted, self.name = True, name
        self._waiting = list(conversation.records())
        if conversation.head is not None:
            self._write(self._waiting[-1])

    def rename(self, name: str) -> None:
        """Raises UsageError for a bad or a taken name."""
        if self._file is not None:
            self._file.rename(self._folder.path(name))
            self.name = name

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file = None


def model_of(conversation: Conversation, invocation: Invocation) -> str | None:
    """The model a saved chat was with, unless one was asked for now."""
    asked = invocation.resolved.origin("model") == "flag"
    return None if asked else conversation.model


def state_key(chat: str) -> str:
    """What the KV state of a chat is kept under."""
    return f"chat-{chat}"
