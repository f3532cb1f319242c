"""Standard error where it is the chat's own terminal: its lines look like the chat's."""

from __future__ import annotations

from nextok.cli.chat.screen import Screen
from nextok.cli.console import Console


class ScreenConsole(Console):
    """Says on the screen what it is given."""

    def __init__(self, console: Console, screen: Screen) -> None:
        super().__init__(
            stream=console.stream,
            terminal=console.terminal,
            color=console.color,
            quiet=console.quiet,
        )
        self.screen = screen

    def error(self, text: str) -> None:
        self.screen.trouble(text)

    def warning(self, text: str) -> None:
        self.screen.warning(text)

    def note(self, text: str) -> None:
        self.screen.note(text)


def on_screen(console: Console, screen: Screen) -> Console:
    """The console, or one on the screen if a person would read it there anyway."""
    return ScreenConsole(console, screen) if console.terminal else console
