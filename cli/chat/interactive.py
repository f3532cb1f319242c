"""The chat at a terminal: a line is read, a command is run or a reply is made, again.

Promises that an interrupt ends what is going on and not the chat, and that the terminal is left
as it was found.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nextok.backends.folders import input_history
from nextok.cli.chat import slash
from nextok.cli.chat.between import Interrupted, take_signals
from nextok.cli.chat.bottom_line import fragments
from nextok.cli.chat.command import chat_folder
from nextok.cli.chat.completion import Completion
from nextok.cli.chat.desk import Desk, TurnMaker
from nextok.cli.chat.editor import Editor, Left, Terminated
from nextok.cli.chat.furniture import Furniture
from nextok.cli.chat.past import show_message, show_past
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.chat.slash_settings import carry_settings, take_up_settings
from nextok.cli.chat.standing import standing
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.prompt import joined
from nextok.generation.errors import NextokError

if TYPE_CHECKING:
    from nextok.cli.answer import Answer
    from nextok.cli.chat.turn import Turn
    from nextok.cli.settings import ThinkMode

_SWALLOWED = 1.0
"""Seconds after an interrupted reply in which Ctrl-C at the prompt does nothing."""


def talk(invocation: Invocation, first: str, keyboard: QuietKeys) -> int:
    """Carry on a conversation until the user leaves; the exit code."""
    return Interactive(invocation, first, keyboard).run()


class Interactive:
    """One sitting."""

    def __init__(self, invocation: Invocation, first: str, keyboard: QuietKeys) -> None:
        """first: a message that is there before anything is typed, if any. keyboard: is quiet.

        Raises UsageError for a saved chat that cannot be taken up.
        """
        self._first = first
        self._keyboard = keyboard
        self._around = Furniture(invocation, keyboard, self._interrupted)
        self._screen, self._session = self._around.screen, self._around.session
        self._partner = self._around.partner
        self._desk = self._made_desk(invocation.resolved.output.think)
        self._quiet_until = 0.0
        self._editor = self._made_editor(self._around.terminal)

    def _made_editor(self, terminal: int) -> Editor:
        return Editor(
            history=input_history() if self._session.keeping.wanted else None,
            complete=Completion(self._desk),
            bottom_line=self._bottom_line,
            color=self._screen.color,
            output=terminal,
            clock=time.monotonic,
            note=self._screen.note,
            quiet=self._keyboard,
        )

    def _made_desk(self, think: ThinkMode | None) -> Desk:
        return Desk(
            session=self._session,
            folder=chat_folder(),
            screen=self._screen,
            take_turn=self._take_turn,
            load=self._partner.load,
            open_chat=self._open_chat,
            show_past=self._show_past,
            offer_folding=self._partner.offer_folding,
            think=think or ("dim" if self._screen.color else "show"),
        )

    def run(self) -> int:
        """Talk; the exit code."""
        take_signals(self._around.state, self._around.leaving.by)
        try:
            return self._talk()
        except BaseException:
            self._screen.let_go()
            raise

    def _talk(self) -> int:
        take_up_settings(self._desk)
        with self._editor_getting_ready():
            self._partner.load(self._partner.named(), at_start=True)
        self._screen.note("/help lists the commands, Ctrl-D leaves")
        self._screen.blank()
        self._show_past(self._session.keeping.name)
        with contextlib.suppress(Left):
            self._take_first()
            while not self._desk.is_done:
                text = self._read()
                self._take(text, literal=self._editor.quoted)
        self._session.close()
        return ANSWERED

    @contextlib.contextmanager
    def _editor_getting_ready(self) -> Iterator[None]:
        """It takes as long as a small model to load: both at once."""
        thread = threading.Thread(target=self._editor.prepare, name="editor", daemon=True)
        thread.start()
        yield
        thread.join()

    def _read(self) -> str:
        draft, self._desk.draft = self._desk.draft, ""
        try:
            return self._editor.read(default=draft, quiet_until=self._quiet_until)
        except Terminated as ended:
            if ended.number == signal.SIGHUP:  # a closed window is how many leave
                with contextlib.suppress(NextokError, OSError):
                    self._session.keep_state()
            self._around.leaving.by(ended.number)

    def _take_first(self) -> None:
        if self._first:
            show_message(self._first, self._screen)
            self._take(self._first, literal=True)

    def _take(self, text: str, *, literal: bool = False) -> None:
        """A command or a message; whatever goes wrong with it is said."""
        if not text.strip():
            return
        try:
            command = None if literal else slash.parse(text)
            if command is not None:
                command[0].run(self._desk, command[1])
            else:
                self._say(text if literal else slash.message(text))
        except Interrupted:
            self._screen.note("interrupted")
        except NextokError as error:
            self._screen.trouble(str(error))

    def _say(self, text: str) -> None:
        attached = self._desk.attached
        whole = joined([*(one.text for one in attached.values()), text])

        def make(answers: Sequence[Answer]) -> Turn:
            turn = self._session.say(whole, answers)
            if turn.kept:
                attached.clear()
            return turn

        try:
            self._take_turn(make)
        except NextokError as error:
            self._screen.trouble(str(error))
        if attached:
            names = ", ".join(one.name for one in attached.values())
            wait = "waits" if len(attached) == 1 else "wait"
            self._screen.note(f"{names} still {wait} for your next message (/clear drops it)")

    def _take_turn(self, make: TurnMaker) -> None:
        self._around.turns.take(make, self._desk.think)

    def _interrupted(self) -> None:
        """Further presses of Ctrl-C were meant for what has just ended."""
        self._quiet_until = time.monotonic() + _SWALLOWED

    def _open_chat(self, name: str | None) -> None:
        session, before = self._session, self._session.conversation.settings
        session.open(name)
        self._desk.attached.clear()
        carry_settings(self._desk, before, keep=name is None)
        wanted = self._partner.named()
        if session.engine is not None and wanted not in (None, session.engine.reference):
            self._partner.load(wanted)
        if name is None:
            self._screen.note("a new chat")
        self._show_past(session.keeping.name)

    def _show_past(self, name: str | None) -> None:
        show_past(self._session.conversation, name, self._screen, self._around.replies.stream)

    def _bottom_line(self) -> Sequence[tuple[str, str]]:
        return fragments(
            standing(self._session),
            self._screen.size.columns,
            encoding=sys.stdout.encoding or "utf-8",
        )
