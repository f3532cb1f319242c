"""A conversation with a model: loaded for it, freed again, kept for the next process.

Knows nothing of turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nextok.cli.chat.chat_state import ChatState
from nextok.cli.chat.engine import Engine
from nextok.cli.chat.loading import Loading
from nextok.generation.conversation import Conversation

if TYPE_CHECKING:
    from nextok.backends.kv_store import KvStore
    from nextok.cli.chat.keeping import Keeping
    from nextok.cli.chat.reply import Stage
    from nextok.cli.console import Console
    from nextok.cli.resolution import Resolved
    from nextok.cli.status import Status


class Companion:
    """One chat at a time, one model at a time."""

    def __init__(
        self,
        *,
        conversation: Conversation,
        keeping: Keeping,
        store: KvStore,
        resolved: Resolved,
        console: Console,
        status: Status,
        stage: Stage,
    ) -> None:
        self.conversation = conversation
        self.keeping = keeping
        self.engine: Engine | None = None
        self.resolved = resolved
        self.note: Callable[[str], None] = console.note
        """Says one line between two turns."""
        self._state = ChatState(store)

        self._loading = Loading(stage, console, status)
        self.status = status
        self.stage = stage

    def load(self, reference: str | None = None) -> Engine:
        """Load the model, another one if `reference` is given, and free the old one.

        An interrupt raises Aborted within moments; the model that was there stays. Raises
        NextokError like the load of a single answer.
        """
        resolved = self.resolved
        if reference is not None:
            resolved = resolved.with_set({"model": reference})
        engine = self._loading.engine(resolved)
        self.unload()
        self.engine, self.resolved = engine, engine.loaded.resolved
        self.conversation.set_model(engine.reference)
        self._restore()
        return engine

    def open(self, name: str | None) -> None:
        """Put this chat away and take up another one, or begin anew with the same model.

        Raises UsageError, the present chat as it was.
        """
        keeping = self.keeping.another()
        conversation = Conversation(keeping.record)
        if name is None:
            conversation.set_system(self.conversation.system)
        else:
            keeping.take_up(name, conversation)
        self.keep_state()
        self.keeping.close()
        self.keeping, self.conversation = keeping, conversation
        self._restore()

    def _restore(self) -> None:
        self._state.restore(self.engine, self.keeping.name)

    def unload(self) -> None:
        """Keep what the model has read, and free it."""
        if self.engine is not None:
            self.keep_state()
            self.engine.close()
        self.engine = None

    def keep_state(self) -> None:
        """Put the KV state where the next process finds it."""
        if self.keeping.wanted:
            self._state.keep(self.engine, self.keeping.name)

    def forget_state(self, name: str | None = None) -> None:
        """Take the KV state of a chat (this one, without a name) from the disk."""
        self._state.forget(name or self.keeping.name, is_this_one=name is None)

    def close(self) -> None:
        """The chat is over."""
        self.unload()
        self.keeping.close()
