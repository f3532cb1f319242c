"""A session of a chat: its turns, for a terminal and for a pipe.

Promises that a turn that fails leaves the conversation as it was: nothing of it is fed to a model.
Knows nothing of keys or screens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nextok.cli.chat.companion import Companion
from nextok.cli.chat.engine import Engine
from nextok.cli.chat.rendering import Begun
from nextok.cli.chat.reply import COMPLETE, Spoken, Stage, figures, speak
from nextok.cli.chat.turn import Turn, ask
from nextok.cli.prompting import check_plausible
from nextok.generation.conversation import Conversation
from nextok.generation.errors import EngineError, NextokError, UsageError
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.backends.kv_store import KvStore
    from nextok.cli.answer import Answer
    from nextok.cli.chat.keeping import Keeping
    from nextok.cli.chat.turn_notes import TurnNotes
    from nextok.cli.console import Console
    from nextok.cli.resolution import Resolved
    from nextok.cli.status import Status


class Session(Companion):
    """One sitting."""

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
        super().__init__(
            conversation=conversation,
            keeping=keeping,
            store=store,
            resolved=resolved,
            console=console,
            status=status,
            stage=stage,
        )
        self.last: Spoken | None = None
        """The last reply, with its figures."""
        self._cut: tuple[int, tuple[int, ...]] | None = None
        """The last reply's id and tokens, to go on from."""
        self._unanswered_at: tuple[Conversation, int | None] | None = None
        """Where the conversation stood after a turn that left nothing in it."""
        self._notes = notes

    @property
    def is_cut_short(self) -> bool:
        """Whether the last turn left nothing in the conversation but what the model has read."""
        return self._unanswered_at == (self.conversation, self.conversation.head)

    def say(self, text: str, answers: Sequence[Answer]) -> Turn:
        """The user says something and the model replies. Raises NextokError."""
        self._check_length(text)
        if self.conversation.pending is not None:
            self.note("the message that was not answered stays in a branch: /branches has it")
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
        if not (kept or self._ends_with(spoken, asked, otherwise)):
            self._take_back(otherwise)
        path = [entry.id for entry in self.conversation.entries()]
        return self._turn(spoken, kept, taken_back=asked not in path)

    def _ends_with(self, spoken: Spoken, asked: int | None, otherwise: int | None) -> bool:
        """Whether the process does, at a terminal: the new message stays, as after a kill."""
        is_new = asked is not None and (otherwise is None or asked > otherwise)
        gone = spoken.outcome.finish.reason is FinishReason.DISCONNECTED
        return is_new and self.stage.keyboard is not None and bool(spoken.signal_number or gone)

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
        self._unanswered_at = None if kept else (self.conversation, self.conversation.head)
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
        asked_at = self.stage.clock()
        self._state.is_ahead = True
        self.conversation.set_model(engine.reference)
        self.stage.abort.rearm()
        asked = ask(
            engine,
            self.conversation,
            self.resolved,
            note=self.note,
            begun=begun,
            asked_at=asked_at,
        )
        stops = self.resolved.stops
        return speak(self.stage, engine, asked.request, asked.facts, answers, stops)
