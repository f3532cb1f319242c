"""The full line editor, for a terminal that knows escape codes: prompt_toolkit, set up for a chat.

It draws at the cursor and below and asks the terminal nothing. However a reading ends, the
terminal's modes, the signals' handlers and the cursor are as they were.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.styles import DummyStyleTransformation

from nextok.cli.chat.completer import SuggestionCompleter
from nextok.cli.chat.draft import Draft
from nextok.cli.chat.editor import Left, Options, Terminated
from nextok.cli.chat.editor_layout import STYLE, NoStyle, editor_layout
from nextok.cli.chat.editor_terminal import terminal_input, terminal_output
from nextok.cli.chat.external_editor import ExternalEditor
from nextok.cli.chat.history import InputHistory
from nextok.cli.chat.interrupts import HOW_TO_LEAVE, Interrupts, Press
from nextok.cli.chat.keys import key_bindings
from nextok.cli.chat.lent_terminal import LentTerminal
from nextok.cli.chat.message import Message
from nextok.cli.chat.prompt_signals import ENDING, PromptSignals, prompt_signals
from nextok.generation.errors import UsageError


class ScreenEditor:
    """Reads messages on one terminal."""

    def __init__(self, options: Options, history: InputHistory) -> None:
        self._options = options
        self._draft = Draft(history, SuggestionCompleter(options.complete))
        self._input = terminal_input(options.keyboard, options.quiet)
        self._elsewhere = ExternalEditor(
            options.environ, keyboard=options.keyboard, output=options.output
        )
        self._application: Application[Message] = Application(
            layout=editor_layout(self._draft.buffer, self._draft.folding, options.bottom_line),
            key_bindings=key_bindings(self._draft.buffer, self),
            style=STYLE,
            style_transformation=DummyStyleTransformation() if options.color else NoStyle(),
            include_default_pygments_style=False,
            editing_mode=EditingMode.EMACS,
            input=self._input,
            output=terminal_output(options.output),
        )
        self._terminal = LentTerminal(self._application, options.keyboard, options.quiet)
        self._interrupts = Interrupts(options.clock, 0.0)
        self._is_elsewhere = False
        self._ended: Terminated | None = None
        self._signals = PromptSignals()

    def read(self, *, default: str, quiet_until: float) -> Message:
        self._interrupts = Interrupts(self._options.clock, quiet_until)
        self._ended = None
        try:
            with prompt_signals() as self._signals, self._options.quiet:
                message = asyncio.run(self._run(default))
        except EOFError:
            raise Left from None
        except OSError:
            if os.isatty(self._options.output):
                raise
            raise self._ended or Terminated(signal.SIGHUP) from None
        if self._ended is not None:
            raise self._ended
        return message

    # -- what keys do

    def enter(self) -> None:
        buffer = self._draft.buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # it has been chosen, not sent
            return
        message = self._draft.enter()
        if message is not None and not self._application.is_done:
            self._application.exit(result=message)

    def paste(self, text: str) -> None:
        self._draft.paste(text)

    def interrupt(self) -> None:
        if self._is_elsewhere:
            return  # it is the other program's
        press = self._interrupts.press(empty=not self._draft.buffer.text)
        if press is Press.CLEAR:
            self._draft.replace("")
        elif press is Press.EXPLAIN:
            self._note(HOW_TO_LEAVE)
        elif press is Press.LEAVE:
            self.leave()

    def leave(self) -> None:
        self._fail(Left())

    def suspend(self) -> None:
        self._application.create_background_task(self._suspend())

    def edit_elsewhere(self) -> None:
        if not self._is_elsewhere:
            self._is_elsewhere = True
            self._application.create_background_task(self._edit_elsewhere())

    # -- how it comes about

    async def _run(self, default: str) -> Message:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        try:
            return await self._application.run_async(
                pre_run=lambda: self._begin(default),
                set_exception_handler=False,
                handle_sigint=False,
            )
        finally:
            self._signals.hold()

    def _begin(self, default: str) -> None:
        """Everything is there but the terminal's mode."""
        loop = asyncio.get_running_loop()
        self._draft.start(default)
        # What was read with the last message is fed after the history is loaded: it may hold an Up.
        loop.call_soon(self._feed, get_typeahead(self._input))
        # A loop that handles any signal wakes up for every one, and lets our handlers run.
        loop.add_signal_handler(signal.SIGCONT, self._terminal.take_again)
        wakes, context = loop.call_soon_threadsafe, contextvars.copy_context()
        self._signals.hear(lambda number: wakes(self._signalled, number, context=context))

    def _feed(self, keys: list[KeyPress]) -> None:
        self._application.key_processor.feed_multiple(keys)
        self._application.key_processor.process_keys()

    def _signalled(self, number: int) -> None:
        if number == signal.SIGINT and self._application.is_done:
            self._signals.hold()  # it is meant for what comes next
            self._signals.take(number, None)
        elif number == signal.SIGINT:
            self._application.key_processor.send_sigint()
        elif number == signal.SIGTSTP:
            self.suspend()
        elif number == signal.SIGQUIT and self._is_elsewhere:
            return  # a key of the other program's
        elif number in ENDING:
            self._ended = Terminated(number)
            self._elsewhere.stop()
            self._fail(self._ended)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Something went wrong outside of any call: it goes the way of every other error."""
        self._fail(context.get("exception") or RuntimeError(context["message"]))

    def _fail(self, error: BaseException) -> None:
        if self._application.is_running and not self._application.is_done:
            self._application.exit(exception=error)

    def _note(self, text: str) -> None:
        """A line above the prompt. The terminal stays in its mode, so that no key is lost."""
        self._application.renderer.erase()
        self._options.note(text)
        self._application.invalidate()

    async def _suspend(self) -> None:
        async with self._terminal.to_another(self._signals):
            os.kill(0, signal.SIGTSTP)  # what was started with us stops too

    async def _edit_elsewhere(self) -> None:
        text = self._draft.text
        try:
            async with self._terminal.to_another(self._signals):
                text = await self._elsewhere.edited(text)
        except UsageError as error:
            self._note(str(error))
        finally:
            self._is_elsewhere = False
        if text != self._draft.text:
            self._draft.replace(text)
