"""`nextok chat`: a conversation, at a terminal or through a pipe."""

from __future__ import annotations

from nextok.cli.chat.command import chat

__all__ = ["chat"]
