"""The terminal as other programs are to find it, when the process stops or ends amid a reply."""

from __future__ import annotations

import signal
from typing import NoReturn

from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.chat.screen import Screen
from nextok.cli.ending import leave
from nextok.cli.stdout import Stdout
from nextok.generation.finish import FinishReason


class TerminalState:
    """What a watcher may do to the terminal, from any thread and without ever waiting."""

    def __init__(self, keys: QuietKeys, screen: Screen) -> None:
        self._keys = keys
        self._screen = screen

    def restore(self) -> None:
        """Its own modes, and no colour."""
        self._screen.let_go()
        self._keys.restore()

    def apply(self) -> None:
        """Ours again."""
        self._keys.apply()


class Leaving:
    """Ends the process, the terminal as it was found. What was said is in its file."""

    def __init__(self, state: TerminalState, stdout: Stdout) -> None:
        """stdout: where the replies go."""
        self._state = state
        self._stdout = stdout

    def by(self, signal_number: int) -> NoReturn:
        """Die by the signal."""
        self._state.restore()
        leave(FinishReason.INTERRUPTED, signal_number)

    def alone(self) -> NoReturn:
        """Nobody reads the replies any more."""
        self.by(signal.SIGHUP if self._stdout.is_terminal else signal.SIGPIPE)
