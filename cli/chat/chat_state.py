"""The KV state of a chat on the disk: what its model has read need not be read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nextok.cli.chat.keeping import state_key

if TYPE_CHECKING:
    from nextok.backends.kv_store import KvStore
    from nextok.cli.chat.engine import Engine


class ChatState:
    """One chat at a time; without an engine, or a name on the disk, there is nothing to do."""

    def __init__(self, store: KvStore) -> None:
        self._store = store
        self.is_ahead = False
        """Whether the engine has read more of this chat than is kept."""

    def restore(self, engine: Engine | None, name: str | None) -> None:
        """Give the engine what is kept of a chat, which it goes on with from now on."""
        self.is_ahead = False
        if engine is not None and name is not None:
            engine.restore(self._store, state_key(name))

    def keep(self, engine: Engine | None, name: str | None) -> None:
        """Keep what the engine has read, if that is more than is kept."""
        if self.is_ahead and engine is not None and name is not None:
            engine.keep(self._store, state_key(name))
            self.is_ahead = False

    def forget(self, name: str | None, *, is_this_one: bool) -> None:
        """Take what is kept of a chat from the disk; of this one it may be kept again."""
        self.is_ahead = self.is_ahead or is_this_one
        self._store.remove(state_key(name or ""))
