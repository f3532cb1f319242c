"""Standard error where it is the chat's own terminal: its lines look like the chat's."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from nextok.cli.chat.screen import Screen
from nextok.cli.console import Console


@dataclass(frozen=True, kw_only=True)
class ScreenConsole(Console):
    """Says on the screen what it is given."""

    screen: Screen

    def error(self, text: str) -> None:
        self.screen.trouble(text)

    def warning(self, text: str) -> None:
        self.screen.warning(text)

    def note(self, text: str) -> None:
        self.screen.note(text)


def on_screen(console: Console, screen: Screen) -> Console:
    """The console, or one on the screen if a person would read it there anyway."""
    if not console.terminal:
        return console
    known: dict[str, Any] = {one.name: getattr(console, one.name) for one in fields(Console)}
    return ScreenConsole(screen=screen, **known)
