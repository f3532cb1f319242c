"""The terminal as other programs are to find it, when the process stops or ends amid a reply."""

from __future__ import annotations

from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.chat.screen import Screen


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
