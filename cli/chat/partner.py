"""The model that a chat at a terminal is with: loaded, and asked about where it has to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from nextok.cli.chat.between import Interrupted, interruptible
from nextok.cli.chat.keeping import model_of
from nextok.cli.question import agreed, can_ask
from nextok.generation.abort import Aborted
from nextok.generation.errors import NextokError
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.cli.chat.reply_mode import QuietKeys
    from nextok.cli.chat.screen import Screen
    from nextok.cli.chat.session import Session
    from nextok.cli.invocation import Invocation


class Partner:
    """Loads models for a session, and says on the screen what came of it."""

    def __init__(
        self,
        session: Session,
        invocation: Invocation,
        screen: Screen,
        keyboard: QuietKeys,
        leave_alone: Callable[[], NoReturn],
        interrupted: Callable[[], None],
    ) -> None:
        """leave_alone: ends the process when nobody reads any more. interrupted: told of it."""
        self._session = session
        self._invocation = invocation
        self._screen = screen
        self._keyboard = keyboard
        self._leave_alone = leave_alone
        self._interrupted = interrupted

    def named(self) -> str | None:
        """The one the chat was with, unless another was asked for."""
        return model_of(self._session.conversation, self._invocation)

    def load(self, reference: str | None, *, at_start: bool = False) -> bool:
        """Whether a model is there now. At the start, what is wrong with it ends the chat."""
        try:
            engine = self._session.load(reference)
        except Aborted:
            if self._session.stage.abort.reason is FinishReason.DISCONNECTED:
                self._leave_alone()
            self._interrupted()
            self._screen.note("loading was interrupted: your next message loads the model")
            return False
        except NextokError as error:
            if at_start:
                raise
            self._screen.trouble(str(error))
            return False
        self._screen.note(f"{engine.weights.name} · context {engine.context_size:,}")
        self.offer_folding()
        return True

    def offer_folding(self) -> None:
        """A template without a system role: fold the message, or do without."""
        session = self._session
        engine = session.engine
        if engine is None or session.conversation.system is None:
            return
        if session.resolved.prompt.fold_system or engine.rendering.takes_system():
            return
        question = (
            "this model's template takes no system message: "
            "put it at the head of your first message?"
        )
        if self._agrees(question):
            session.resolved = session.resolved.with_set({"fold_system": True})
            session.conversation.set_setting("fold-system", "1")
        else:
            session.conversation.set_system(None)
            self._screen.note("the system message is left out (--fold-system)")

    def _agrees(self, question: str) -> bool:
        console = self._invocation.console
        self._keyboard.restore()
        try:
            with interruptible():
                return can_ask(console) and agreed(question, console, default=True)
        except Interrupted:  # no answer is no reason to leave anything out
            console.ask("\n")
            return True
        finally:
            self._keyboard.apply()
