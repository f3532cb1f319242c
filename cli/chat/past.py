"""Where a chat that is taken up had got to, as it would stand on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nextok.cli.chat.paste_mark import paste_mark
from nextok.cli.console import visible

if TYPE_CHECKING:
    from nextok.cli.chat.markdown_plain import ReplyStream
    from nextok.cli.chat.screen import Screen
    from nextok.generation.conversation import Conversation

_SHOWN = 2
"""Messages."""
_LINES = 6
"""Of a message of the user's: a whole file may be in it."""


def show_past(
    conversation: Conversation, name: str | None, screen: Screen, stream: Callable[[], ReplyStream]
) -> None:
    """The last messages; nothing for a chat in which nothing was said. name: of the whole."""
    entries = conversation.entries()
    if not entries:
        return
    many = "1 message" if len(entries) == 1 else f"{len(entries):,} messages"
    screen.note(f"{name}: {many}" if name else many)
    for entry in entries[-_SHOWN:]:
        screen.blank()
        if entry.role == "user":
            show_message(entry.content, screen)
        elif _rows(entry.content, screen) > screen.size.lines:
            screen.say(paste_mark(entry.content), dim=True)
            screen.note("/export writes all of it to a file, /copy copies the last reply")
        else:
            laid_out = stream()
            laid_out.feed(visible(entry.content))
            laid_out.close()
    screen.blank()
    if conversation.pending is not None:
        screen.note("the last message was not answered: /regen answers it")


def show_message(text: str, screen: Screen) -> None:
    """What the user said, as it would stand at a prompt."""
    lines = text.strip("\n").split("\n")
    shown = "\n. ".join(lines[:_LINES])
    if _rows(shown, screen) > screen.size.lines:
        screen.say(f"> {paste_mark(text)}", dim=True)
        return
    screen.say(f"> {shown}", dim=True)
    if len(lines) > _LINES:
        screen.note(f"and {len(lines) - _LINES:,} more lines")


def _rows(text: str, screen: Screen) -> int:
    """About how many rows of the screen it takes."""
    width = screen.size.columns
    return sum(1 + len(line) // width for line in text.split("\n"))
