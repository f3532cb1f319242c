"""A conversation as it is read: the path that is talked on, what a template is given, the branches.

Changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nextok.generation.conversation_state import ConversationState
from nextok.generation.finish import FinishReason
from nextok.generation.message import Message
from nextok.generation.message_tree import ASSISTANT, USER, Entry

CUT = frozenset(FinishReason) - {FinishReason.EOS, FinishReason.STOP, FinishReason.ERROR}
"""After these a reply can be continued: the model had more to say."""
_TITLE_LENGTH = 60


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A path one can switch to: a named one, or "#12", which ends with message 12."""

    name: str
    messages: int
    """How many it has."""
    last: str
    """The text of the last one."""
    is_current: bool


class ConversationView:
    """What is so."""

    def __init__(self) -> None:
        self._state = ConversationState()

    @property
    def system(self) -> str | None:
        """The system message. It stands before every branch."""
        return self._state.system

    @property
    def model(self) -> str | None:
        """The name of the model that was last talked to."""
        return self._state.model

    @property
    def settings(self) -> Mapping[str, str]:
        """What the user has set in this conversation, as texts."""
        return MappingProxyType(self._state.settings)

    @property
    def title(self) -> str:
        """The first line of the first message, shortened; empty before it is said."""
        first = next(iter(self.entries() or self._state.tree), None)
        lines = first.content.strip().splitlines() if first else []
        line = " ".join(lines[0].split()) if lines else ""
        return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"

    @property
    def head(self) -> int | None:
        """The id of the last message of the path; None when it is empty."""
        return self._state.head

    @property
    def current_branch(self) -> str:
        """Its name. There always is one, and it moves with the head."""
        return self._state.current

    def entries(self) -> list[Entry]:
        """The path, all of it."""
        return self._state.tree.path(self.head)

    def window(self) -> list[Entry]:
        """The path without what was dropped for room."""
        path = self.entries()
        place = {entry.id: index for index, entry in enumerate(path)}
        starts = (place[start] for start in reversed(self._state.window_starts) if start in place)
        return path[next(starts, 0) :]

    def messages(self) -> list[Message]:
        """What a chat template is given: the system message, if any, and the window."""
        system = [] if self.system is None else [Message("system", self.system)]
        return [*system, *(Message(entry.role, entry.content) for entry in self.window())]

    @property
    def pending(self) -> Entry | None:
        """The last message if it is the user's: it was never answered, or is about to be."""
        return self._last(USER)

    @property
    def can_continue(self) -> bool:
        """Whether the last message is a reply that was cut."""
        reply = self._last(ASSISTANT)
        return reply is not None and reply.finish in CUT

    def branches(self) -> list[Branch]:
        """The named ones, then the ends of abandoned paths, which no named one reaches."""
        return [self._branch(name, tip) for name, tip in self._state.tips().items()]

    def _last(self, role: str) -> Entry | None:
        """The head's entry, if it is of that role."""
        last = None if self.head is None else self._state.tree[self.head]
        return last if last is not None and last.role == role else None

    def _branch(self, name: str, tip: int | None) -> Branch:
        path = self._state.tree.path(tip)
        return Branch(
            name=name,
            messages=len(path),
            last=path[-1].content if path else "",
            is_current=name == self.current_branch,
        )
