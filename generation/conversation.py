"""A conversation: a tree of messages, one path of which is being talked on.

Promises that nothing said is lost: undo, regenerate and edit only move the head, the end of that
path. Every change is a record, so a file to which records are only appended rebuilds the whole,
from any number of its first lines. Refuses to know files, templates and tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from nextok.generation.conversation_record import Record, message_record
from nextok.generation.conversation_view import Branch, ConversationView
from nextok.generation.finish import FinishReason
from nextok.generation.message_tree import ASSISTANT, USER, Entry

__all__ = ["Branch", "Conversation", "Entry"]


class Conversation(ConversationView):
    """Verbs move the head; views read the path that ends there."""

    def __init__(self, record: Callable[[Record], None] | None = None) -> None:
        """record: told of every change, after it is made; it may append it to a file."""
        super().__init__()
        self._tell = record

    def apply(self, record: Record) -> None:
        """Replay one record, without telling `record`. ValueError, nothing changed: no fit."""
        self._state.apply(record)

    def records(self) -> Iterator[dict[str, object]]:
        """The whole as records, for a fresh copy."""
        return self._state.records()

    def set_system(self, text: str | None) -> None:
        """None takes it away; an empty one is a message that says nothing."""
        if text != self.system:
            self._change({"type": "system", "text": text})

    def set_model(self, name: str | None) -> None:
        """Note whom the user talks to from now on."""
        if name != self.model:
            self._change({"type": "model", "name": name})

    def set_setting(self, name: str, value: str | None) -> None:
        """None goes back to the default."""
        if value != self.settings.get(name):
            self._change({"type": "setting", "name": name, "value": value})

    def say(self, text: str) -> Entry:
        """The user says something. It takes the place of a message that was never answered."""
        before = self.pending.parent if self.pending else self.head
        return self._add(self._next_entry(USER, text, before))

    def reply(
        self,
        text: str,
        *,
        reasoning: str = "",
        finish: str | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> Entry:
        """The model answers the pending message. ValueError if there is none."""
        if self.pending is None:
            raise ValueError("there is no message to reply to")
        return self._answer(self.pending.id, text, reasoning, finish, figures)

    def extend(
        self,
        text: str,
        *,
        reasoning: str = "",
        finish: str | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> Entry:
        """A longer version of the last reply takes its place; text and reasoning are whole.

        ValueError if the last message is no reply.
        """
        short = self._last(ASSISTANT)
        if short is None:
            raise ValueError("there is no reply to continue")
        return self._answer(short.parent, text, reasoning, finish, figures)

    def undo(self) -> Entry | None:
        """Go back to before the user's last message; that message, or None on an empty path."""
        message = self._last_of_user()
        if message is not None:
            self.move_to(message.parent)
        return message

    def rewind(self) -> Entry | None:
        """Go back to the user's last message, to have it answered anew; that message, or None."""
        message = self._last_of_user()
        if message is not None:
            self.move_to(message.id)
        return message

    def clear(self) -> None:
        """Begin again with an empty path; the one so far becomes a branch."""
        self.move_to(None)

    def move_to(self, entry_id: int | None) -> None:
        """Put the head on any message: where it was before a turn that failed, for one."""
        if entry_id != self.head:
            self._change({"type": "head", "at": entry_id})

    def drop_before(self, entry_id: int) -> None:
        """On all paths through this message of the user's, the window begins with it."""
        self._change({"type": "window", "start": entry_id})

    def branch(self, name: str | None = None) -> str:
        """A new branch that ends where the current one does, and a switch to it; its name."""
        name = self._state.unused_name() if name is None else name
        self._change({"type": "branch", "name": name, "at": self.head})
        return name

    def switch(self, name: str) -> None:
        """To another branch; an abandoned path, "#12", gets a name with it.

        ValueError, saying which there are.
        """
        tips = self._state.tips()
        if name not in tips:
            raise ValueError(f"there is no branch {name!r}; there are: {', '.join(tips)}")
        if name.startswith("#"):
            self._change({"type": "branch", "name": self._state.unused_name(), "at": tips[name]})
        elif name != self.current_branch:
            self._change({"type": "switch", "name": name})

    def _change(self, record: Record) -> None:
        self._state.apply(record)
        if self._tell is not None:
            self._tell(record)

    def _answer(
        self,
        question: int | None,
        text: str,
        reasoning: str,
        finish: str | None,
        figures: Mapping[str, object] | None,
    ) -> Entry:
        reason = None if finish is None else FinishReason(finish).value
        entry = self._next_entry(ASSISTANT, text, question)
        return self._add(replace(entry, reasoning=reasoning, finish=reason, figures=figures or {}))

    def _next_entry(self, role: str, text: str, parent: int | None) -> Entry:
        return Entry(id=self._state.tree.next_id, parent=parent, role=role, content=text)

    def _add(self, entry: Entry) -> Entry:
        self._change(message_record(entry))
        return self._state.tree[entry.id]

    def _last_of_user(self) -> Entry | None:
        reply = self._last(ASSISTANT)
        if reply is None or reply.parent is None:
            return self.pending
        return self._state.tree[reply.parent]
