"""A turn at a terminal: made, shown, and what follows from how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nextok.cli.report import two_lines
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.cli.chat.desk import TurnMaker
    from nextok.cli.chat.partner import Partner
    from nextok.cli.chat.replies import Replies
    from nextok.cli.chat.screen import Screen
    from nextok.cli.chat.session import Session
    from nextok.cli.chat.terminal_state import Leaving
    from nextok.cli.chat.turn import Turn
    from nextok.cli.settings import ThinkMode


class TurnTaking:
    """Takes turns with whoever is loaded, or is to be loaded for that."""

    def __init__(
        self,
        *,
        session: Session,
        partner: Partner,
        replies: Replies,
        screen: Screen,
        leaving: Leaving,
        interrupted: Callable[[], None],
        shows_figures: bool,
    ) -> None:
        """interrupted: told of a reply that was. shows_figures: below each turn."""
        self._session = session
        self._partner = partner
        self._replies = replies
        self._screen = screen
        self._leaving = leaving
        self._interrupted = interrupted
        self._shows_figures = shows_figures

    def take(self, make: TurnMaker, think: ThinkMode) -> None:
        """One turn, unless no model can be loaded for it. Raises NextokError."""
        if self._session.engine is None and not self._partner.load(self._partner.named()):
            return
        self._screen.blank()
        turn = make(self._replies.answers(think))
        self._end(turn)
        if turn.taken_back:
            self._screen.note("your message was taken back: Up brings it here again")
        self._say_figures()
        self._screen.blank()

    def _end(self, turn: Turn) -> None:
        finish = turn.outcome.finish
        if finish.error is not None:
            self._screen.trouble(str(finish.error))
        if turn.signal_number:
            self._leaving.by(turn.signal_number)
        if finish.reason is FinishReason.DISCONNECTED:
            self._leaving.alone()
        if finish.reason is FinishReason.INTERRUPTED:
            self._interrupted()

    def _say_figures(self) -> None:
        if self._shows_figures and self._session.last is not None:
            for line in two_lines(self._session.last.facts, self._session.last.outcome):
                self._screen.remark(line, dim=True)
