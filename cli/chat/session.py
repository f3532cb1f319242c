"""A conversation, the model it is with, and where it is kept: what a terminal and a pipe share.

Promises that a turn that fails leaves the conversation as it was: nothing of it is fed to a model.
Knows nothing of keys or screens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.cli.chat.engine import Engine, Request
from nextok.cli.chat.keeping import state_key
from nextok.cli.chat.loading import Loading
from nextok.cli.chat.rendering import Begun
from nextok.cli.chat.reply import COMPLETE, Spoken, Stage, figures, speak
from nextok.cli.chat.room import Room
from nextok.cli.oneshot import drawn, facts, splitter, stop_strings
from nextok.cli.prompting import check_plausible
from nextok.cli.thread_choice import is_repeatable, may_adapt
from nextok.generation.conversation import Conversation
from nextok.generation.errors import EngineError, NextokError, UsageError

if TYPE_CHECKING:
    from nextok.backends.kv_store import KvStore
    from nextok.cli.answer import Answer
    from nextok.cli.chat.keeping import Keeping
    from nextok.cli.chat.turn_notes import TurnNotes
    from nextok.cli.console import Console
    from nextok.cli.report import Outcome
    from nextok.cli.resolution import Resolved
    from nextok.cli.status import Status


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What came of a turn."""

    outcome: Outcome
    kept: bool
    """Whether it is part of the conversation: not when it failed or was cut before its first word.
    """
    taken_back: bool
    """Whether the message is no part of it any more either."""
    signal_number: int
    """The signal that ends the process with the turn; 0 when it goes on."""


class Session:
    """One chat."""

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
        notes: TurnNotes,
    ) -> None:
        self.conversation = conversation
        self.keeping = keeping
        self.engine: Engine | None = None
        self.resolved = resolved
        self.note: Callable[[str], None] = console.note
        """Says one line between two turns."""
        self.last: Spoken | None = None
        """The last reply, with its figures."""
        self._cut: tuple[int, tuple[int, ...]] | None = None
        """The last reply's id and tokens, to go on from."""
        self._is_ahead = False
        """Whether the cache holds more of this chat than the state that is kept."""
        self._notes = notes
        self._store = store
        self._console = console
        self._loading = Loading(stage, console, status)
        self.status = status
        self.stage = stage

    # -- the model

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
        self._is_ahead = False
        if self.engine is not None and self.keeping.name is not None:
            self.engine.restore(self._store, state_key(self.keeping.name))

    def unload(self) -> None:
        """Keep what the model has read, and free it."""
        if self.engine is not None:
            self.keep_state()
            self.engine.close()
        self.engine = None

    def keep_state(self) -> None:
        """Put the KV state where the next process finds it."""
        if not (self._is_ahead and self.keeping.wanted):
            return
        if self.engine is not None and self.keeping.name is not None:
            self.engine.keep(self._store, state_key(self.keeping.name))
            self._is_ahead = False

    def forget_state(self, name: str | None = None) -> None:
        """Take the KV state of a chat (this one, without a name) from the disk."""
        self._is_ahead = self._is_ahead or name is None
        self._store.remove(state_key(name or self.keeping.name or ""))

    # -- turns

    def say(self, text: str, answers: Sequence[Answer]) -> Turn:
        """The user says something and the model replies. Raises NextokError."""
        self._check_length(text)
        self.conversation.say(text)
        return self._reply(answers)

    def again(self, answers: Sequence[Answer]) -> Turn:
        """Another reply to the last message. Raises UsageError when there is none."""
        before = self.conversation.head
        if self.conversation.rewind() is None:
            raise UsageError("nothing to answer again: say something first")
        return self._reply(answers, otherwise=before)

    def edit(self, text: str, answers: Sequence[Answer]) -> Turn:
        """The last message said differently, and the reply to that."""
        self._check_length(text)
        before = self.conversation.head
        self.conversation.undo()
        self.conversation.say(text)
        return self._reply(answers, otherwise=before)

    def go_on(self, answers: Sequence[Answer]) -> Turn:
        """More of a reply that was cut. Raises UsageError when the last one was not."""
        if not self.conversation.can_continue:
            raise UsageError("the last reply was not cut: there is nothing to continue")
        reply = self.conversation.entries()[-1]
        said = str(reply.figures.get("raw", reply.content))
        known = self._cut is not None and self._cut[0] == reply.id
        begun = Begun(said, self._cut[1] if self._cut is not None and known else None)
        spoken = self._speak(answers, begun)
        outcome = spoken.outcome
        kept = bool(outcome.finish.completion_tokens) and outcome.finish.error is None
        if kept:
            self.conversation.extend(
                reply.content + outcome.text,
                reasoning=reply.reasoning + (outcome.reasoning or ""),
                finish=outcome.finish.reason.value,
                figures=figures(outcome, said + spoken.raw),
            )
        return self._turn(spoken, kept, before=begun.ids)

    def _check_length(self, text: str) -> None:
        """ContextError for what no context of this model holds, before it is written or read."""
        if self.engine is not None:
            check_plausible([text], self.engine.weights, self.engine.context_size)

    def _reply(self, answers: Sequence[Answer], otherwise: int | None = None) -> Turn:
        """otherwise: where the conversation is if there will be no reply."""
        asked = self.conversation.head
        try:
            spoken = self._speak(answers)
        except NextokError:
            self._take_back(otherwise)
            raise
        outcome = spoken.outcome
        failed = outcome.finish.error is not None
        is_reply = bool(outcome.text or outcome.reasoning) or outcome.finish.reason in COMPLETE
        # Where nobody has seen the words of a failed turn they stay, in a branch of their own.
        if is_reply and not (failed and self.stage.keyboard is not None):
            self.conversation.reply(
                outcome.text,
                reasoning=outcome.reasoning or "",
                finish=outcome.finish.reason.value,
                figures=figures(outcome, spoken.raw),
            )
        kept = is_reply and not failed
        if not kept:
            self._take_back(otherwise)
        path = [entry.id for entry in self.conversation.entries()]
        return self._turn(spoken, kept, taken_back=asked not in path)

    def _take_back(self, head: int | None) -> None:
        if head is not None:
            self.conversation.move_to(head)
        else:
            self.conversation.undo()

    def _turn(
        self,
        spoken: Spoken,
        kept: bool,
        *,
        taken_back: bool = False,
        before: tuple[int, ...] | None = (),
    ) -> Turn:
        """before: tokens that the reply began with; None: they are not known."""
        self.last = spoken
        if kept and before is not None and self.conversation.head is not None:
            self._cut = (self.conversation.head, (*before, *spoken.ids))
        return Turn(
            outcome=spoken.outcome,
            kept=kept,
            taken_back=taken_back,
            signal_number=spoken.signal_number,
        )

    def _speak(self, answers: Sequence[Answer], begun: Begun | None = None) -> Spoken:
        engine = self.engine
        if engine is None:
            raise EngineError("there is no model: /model NAME loads one")
        asked = [one.content for one in self.conversation.entries() if one.role == "user"]
        return self._notes.over(
            engine,
            asked[-1] if asked else "",
            lambda listeners: self._spoken(engine, [*listeners, *answers], begun),
        )

    def _spoken(self, engine: Engine, answers: Sequence[Answer], begun: Begun | None) -> Spoken:
        asked_at, resolved = self.stage.clock(), self.resolved
        self._is_ahead = True
        self.conversation.set_model(engine.reference)
        self.stage.abort.rearm()
        engine.rendering.settings = resolved.prompt
        room = Room(engine.rendering, engine.context_size, self.note)
        mode, limit = resolved.chat.on_full, resolved.stops.max_tokens
        room.make(self.conversation, mode=mode, max_tokens=limit, begun=begun)
        messages = self.conversation.messages()
        if begun is not None:
            messages = messages[:-1]
        tokens = engine.rendering.tokens(messages, begun)
        sampling = drawn(resolved, engine.weights)
        request = Request(
            asked_at=asked_at,
            tokens=tokens,
            sampling=sampling,
            max_tokens=limit,
            stops=stop_strings(resolved),
            splitter=splitter(tokens),
            think_budget=resolved.chat.think_budget,
            adapts=may_adapt(resolved),
            repeatable=is_repeatable(resolved),
            begun=(begun and begun.ids) or (),
            keep=room.kept_beginning(messages) if mode == "shift" else None,
        )
        known = facts(engine.loaded, tokens, sampling)
        return speak(self.stage, engine, request, known, answers, resolved.stops)

    def close(self) -> None:
        """The chat is over."""
        self.unload()
        self.keeping.close()
