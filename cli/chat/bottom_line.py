"""The line below the prompt: model, context and the last turn's figures, as wide as there is room.

Pure text: it knows no terminal. What does not fit is left out, least important first; nothing wraps.
"""

from __future__ import annotations

from dataclasses import dataclass

from nextok.cli.chat.editor import Fragments


@dataclass(frozen=True, kw_only=True)
class BottomState:
    """What there is to say."""

    model: str
    context_used: int
    context_size: int
    ttft_seconds: float | None = None
    tokens_per_second: float | None = None
    branch: str | None = None
    note: str = ""


def fragments(state: BottomState, width: int, *, encoding: str = "utf-8") -> Fragments:
    """The line in at most `width` columns; ASCII where the encoding has no other signs."""
    raise NotImplementedError
