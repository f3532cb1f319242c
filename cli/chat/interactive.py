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
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from nextok.backends.folders import input_history
from nextok.cli.chat import slash
from nextok.cli.chat.between import Interrupted, take_signals
from nextok.cli.chat.bottom_line import fragments
from nextok.cli.chat.command import chat_folder, make_session
from nextok.cli.chat.completion import Completion
from nextok.cli.chat.desk import Desk, TurnMaker
from nextok.cli.chat.editor import Editor, Left, Terminated
from nextok.cli.chat.partner import Partner
from nextok.cli.chat.past import show_message, show_past
from nextok.cli.chat.replies import Replies
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.chat.screen import Screen
from nextok.cli.chat.screen_console import on_screen
from nextok.cli.chat.slash_settings import carry_settings, take_up_settings
from nextok.cli.chat.standing import standing
from nextok.cli.chat.terminal_state import TerminalState
from nextok.cli.console import knows_codes, use_color
from nextok.cli.ending import leave
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.prompt import joined
from nextok.cli.report import two_lines
from nextok.cli.stdout import Stdout, open_terminal
from nextok.cli.trace import opened_trace
from nextok.generation.errors import NextokError
from nextok.generation.finish import FinishReason

if TYPE_CHECKING:
    from nextok.cli.answer import Answer
    from nextok.cli.chat.turn import Turn

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
        self._output = invocation.resolved.output
        self._first = first
        encoding = sys.stdout.encoding or "utf-8"
        self._stdout = Stdout(clock=time.monotonic, encoding=encoding)
        terminal = self._stdout
        if not terminal.is_terminal:
            terminal = open_terminal(time.monotonic, encoding)
        self._screen = self._made_screen(terminal, invocation.environ)
        invocation = invocation._replace(console=on_screen(invocation.console, self._screen))
        self._keyboard = keyboard
        self._state = TerminalState(self._keyboard, self._screen)
        self._session = make_session(invocation, self._state)
        self._session.note = self._screen.aside
        self._partner = Partner(
            self._session,
            invocation,
            self._screen,
            self._keyboard,
            self._leave_alone,
            self._interrupted,
        )
        self._desk = self._made_desk()
        self._replies = Replies(
            session=self._session,
            stdout=self._stdout,
            screen=self._screen,
            output=self._output,
            trace=opened_trace(invocation),
        )
        self._quiet_until = 0.0
        self._editor = self._made_editor(terminal.descriptor)

    def _made_screen(self, terminal: Stdout, environ: Mapping[str, str]) -> Screen:
        return Screen(
            terminal,
            color=use_color(self._output.color, terminal=True, environ=environ),
            draws=knows_codes(environ),
            quiet=self._output.quiet,
        )

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

    def _made_desk(self) -> Desk:
        return Desk(
            session=self._session,
            folder=chat_folder(),
            screen=self._screen,
            take_turn=self._take_turn,
            load=self._partner.load,
            open_chat=self._open_chat,
            show_past=self._show_past,
            offer_folding=self._partner.offer_folding,
            think=self._output.think or ("dim" if self._screen.color else "show"),
        )

    def run(self) -> int:
        """Talk; the exit code."""
        take_signals(self._state, self._leave)
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
            self._leave(ended.number)

    def _leave(self, signal_number: int) -> NoReturn:
        """Die by the signal, the terminal as it was found. What was said is in its file."""
        self._state.restore()
        leave(FinishReason.INTERRUPTED, signal_number)

    def _leave_alone(self) -> NoReturn:
        """Nobody reads the replies any more."""
        self._leave(signal.SIGHUP if self._stdout.is_terminal else signal.SIGPIPE)

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
        whole = joined([*self._desk.attached, text])

        def make(answers: Sequence[Answer]) -> Turn:
            turn = self._session.say(whole, answers)
            if turn.kept:
                self._desk.attached.clear()
            return turn

        self._take_turn(make)

    def _take_turn(self, make: TurnMaker) -> None:
        if self._session.engine is None and not self._partner.load(self._partner.named()):
            return
        self._screen.blank()
        turn = make(self._replies.answers(self._desk.think))
        finish = turn.outcome.finish
        if finish.error is not None:
            self._screen.trouble(str(finish.error))
        if turn.signal_number:
            self._leave(turn.signal_number)
        if finish.reason is FinishReason.DISCONNECTED:
            self._leave_alone()
        if finish.reason is FinishReason.INTERRUPTED:
            self._interrupted()
        if turn.taken_back:
            self._screen.note("your message was taken back: Up brings it here again")
        self._say_figures()
        self._screen.blank()

    def _interrupted(self) -> None:
        """Further presses of Ctrl-C were meant for what has just ended."""
        self._quiet_until = time.monotonic() + _SWALLOWED

    def _say_figures(self) -> None:
        if self._output.stats and self._session.last is not None:
            for line in two_lines(self._session.last.facts, self._session.last.outcome):
                self._screen.remark(line, dim=True)

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
        show_past(self._session.conversation, name, self._screen, self._replies.stream)

    def _bottom_line(self) -> Sequence[tuple[str, str]]:
        return fragments(
            standing(self._session),
            self._screen.size.columns,
            encoding=sys.stdout.encoding or "utf-8",
        )
