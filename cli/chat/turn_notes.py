"""The rows that the turns of a chat leave in the journal, one a reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from nextok.cli.journaling import Begun, Notes, reason_of
from nextok.generation.errors import NextokError

if TYPE_CHECKING:
    from nextok.cli.answer import Answer
    from nextok.cli.chat.engine import Engine
    from nextok.generation.finish import FinishReason

Made = TypeVar("Made")


class TurnNotes:
    """Takes notes of one turn after another."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._notes: Notes | None = None
        self._engine: Engine | None = None
        """The one of the last turn: the load counts with the first turn alone."""

    def over(self, engine: Engine, asked: str, make: Callable[[Sequence[Answer]], Made]) -> Made:
        """What `make` makes; its row is written when it is over, also when it raises.

        make: given what must hear all events, before anybody who may lose a reader.
        """
        if not engine.loaded.resolved.journal.remembers:
            return make(())
        notes = self._begun(engine, asked)
        try:
            made = make((notes,))
        except NextokError as error:
            notes.write(reason_of(error))
            raise
        notes.write()
        return made

    def cut(self, reason: FinishReason) -> None:
        """The process is about to end in the middle of a turn, if there is one."""
        if self._notes is not None:
            self._notes.write(reason)

    def _begun(self, engine: Engine, asked: str) -> Notes:
        loads, self._engine = engine is not self._engine, engine
        begun = Begun(command="chat", model=engine.weights.name, at=self._clock(), asked=asked)
        self._notes = Notes(
            begun,
            engine.loaded.resolved.journal,
            clock=self._clock,
            now=time.time,
            quantization=lambda: engine.weights.quantization,
            loads=loads,
        )
        return self._notes
