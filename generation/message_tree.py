"""The messages of a conversation as a tree: each knows the one before it, none is ever taken out.

Promises that the two speakers take turns on every path, the user first, as chat templates
demand. Refuses to know which path is being talked on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

USER, ASSISTANT = "user", "assistant"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One message."""

    id: int
    """1, 2, 3… over all branches."""
    parent: int | None
    """The message before it; None for the first of a path."""
    role: str
    content: str
    reasoning: str = ""
    """What the model thought first: kept to be shown, never fed back."""
    finish: str | None = None
    """Of a reply: why it ended, a FinishReason's value."""
    figures: Mapping[str, object] = field(default_factory=dict)
    """Of a reply: what was measured."""


class MessageTree:
    """All entries, by id. A path is told by its last entry; None is the path with none."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        """In the order they were added: each after its parent."""
        return iter(self._entries.values())

    def __contains__(self, tip: int | None) -> bool:
        """Whether a path ends there."""
        return tip is None or tip in self._entries

    def __getitem__(self, entry_id: int) -> Entry:
        return self._entries[entry_id]

    @property
    def latest(self) -> int | None:
        """The message that was added last."""
        return next(reversed(self._entries), None)

    @property
    def next_id(self) -> int:
        """The id of a message to come."""
        return max(self._entries, default=0) + 1

    def add(self, entry: Entry) -> None:
        """Hang a message under its parent. ValueError when it is not that speaker's turn."""
        turn = self.whose_turn(entry.parent)
        if entry.role != turn:
            raise ValueError(f"message {entry.id} must be the {turn}'s")
        self._entries[entry.id] = entry

    def whose_turn(self, tip: int | None) -> str:
        """Who speaks next on the path that ends there."""
        after_user = tip is not None and self._entries[tip].role == USER
        return ASSISTANT if after_user else USER

    def path(self, tip: int | None) -> list[Entry]:
        """From the first message to `tip`."""
        entries = []
        while tip is not None:
            entries.append(self._entries[tip])
            tip = entries[-1].parent
        return entries[::-1]

    def leaves(self) -> list[int]:
        """The messages that nothing follows."""
        followed = {entry.parent for entry in self}
        return [entry_id for entry_id in self._entries if entry_id not in followed]
