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
    from nextok.cli.chat.engine import Engine
    from nextok.cli.chat.reply_mode import QuietKeys
    from nextok.cli.chat.screen import Screen
    from nextok.cli.chat.session import Session
    from nextok.cli.invocation import Invocation
    from nextok.generation.conversation import Conversation


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
        self._left_out: tuple[Conversation, str] | None = None
        """A system message that is kept for a model which can be given one."""

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
        self._put_back(engine)
        self._offer_folding()
        return True

    def offer_folding(self) -> None:
        """A template without a system role, and a new system message: fold it, or do without."""
        self._left_out = None
        self._offer_folding()

    def _offer_folding(self) -> None:
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
            self._left_out = session.conversation, session.conversation.system
            session.conversation.set_system(None)
            self._screen.note("the system message is left out (--fold-system)")

    def _put_back(self, engine: Engine) -> None:
        """The system message that a model before this one could not be given."""
        left_out, conversation = self._left_out, self._session.conversation
        if left_out is None or left_out[0] is not conversation or conversation.system is not None:
            return
        if engine.rendering.takes_system():
            conversation.set_system(left_out[1])
            self._left_out = None
            self._screen.note("this model gets the system message")

    def _agrees(self, question: str) -> bool:
        """An interrupt is no consent."""
        console = self._invocation.console
        self._keyboard.restore()
        try:
            with interruptible():
                return can_ask(console) and agreed(question, console, default=True)
        except Interrupted:
            console.ask("\n")
            return False
        finally:
            self._keyboard.apply()
