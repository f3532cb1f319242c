"""`nextok chat`: a conversation, at a terminal or through a pipe.

The keyboard of a terminal is ours before anything heavy is imported: what is typed meanwhile is
neither shown amid the chat's own first lines nor changed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nextok.cli.console import is_terminal

if TYPE_CHECKING:
    from nextok.cli.invocation import Invocation

__all__ = ["chat"]


def chat(invocation: Invocation) -> int:
    """Talk until somebody leaves; the exit code."""
    if not is_terminal(sys.stdin):
        from nextok.cli.chat.command import chat_without_keyboard

        return chat_without_keyboard(invocation)
    from nextok.cli.chat.keyboard import own_keyboard

    with own_keyboard(sys.stdin.fileno()) as keyboard:
        from nextok.cli.chat.command import chat_at_keyboard

        return chat_at_keyboard(invocation, keyboard)
