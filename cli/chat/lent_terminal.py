"""The terminal of a prompt while another program has it, and when it comes back from one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from prompt_toolkit.application import Application, in_terminal

from nextok.cli.chat.editor_terminal import is_raw
from nextok.cli.chat.prompt_signals import PromptSignals
from nextok.cli.chat.reply_mode import QuietKeys


class LentTerminal:
    """Lends the terminal of one application."""

    def __init__(self, application: Application[Any], keyboard: int, quiet: QuietKeys) -> None:
        """keyboard: its descriptor. quiet: knows the modes for other programs."""
        self._application = application
        self._keyboard = keyboard
        self._quiet = quiet
        self._is_lent = False

    @contextlib.asynccontextmanager
    async def to_another(self, signals: PromptSignals) -> AsyncIterator[None]:
        """Our drawing is gone, the modes are as at the start, and Ctrl-Z is the kernel's again, so
        that we stop together with the other one."""
        with signals.stopping_as_usual():
            async with in_terminal():
                self._is_lent = True
                self._quiet.restore()
                try:
                    yield
                finally:
                    self._quiet.apply()
                    self._is_lent = False
                # The other one may have left its last line open.
                self._application.output.write_raw("\r")

    def take_again(self) -> None:
        """We were stopped and go on: unless it was lent, another program may have drawn meanwhile,
        and changed the modes."""
        if not self._is_lent and not is_raw(self._keyboard):
            self._quiet.apply()
            self._application.input.raw_mode().__enter__()
            self._application.renderer.reset()
            self._application.invalidate()
