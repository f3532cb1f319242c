"""One turn of a chat: what is asked of the engine for it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.cli.chat.engine import Engine, Request
from nextok.cli.chat.room import Room
from nextok.cli.oneshot import drawn, facts, splitter, stop_strings
from nextok.cli.thread_choice import is_repeatable, may_adapt

if TYPE_CHECKING:
    from nextok.cli.chat.rendering import Begun
    from nextok.cli.report import Outcome, RunFacts
    from nextok.cli.resolution import Resolved
    from nextok.generation.conversation import Conversation


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What came of a turn."""

    outcome: Outcome
    kept: bool
    """Whether it is part of the conversation: not when it failed or was cut before its first word.
    """
    taken_back: bool
    """Whether the message is no part of it any more either."""
    signal_number: int
    """The signal that ends the process with the turn; 0 when it goes on."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked, and what is known before there is an answer."""

    request: Request
    facts: RunFacts


def ask(
    engine: Engine,
    conversation: Conversation,
    resolved: Resolved,
    *,
    note: Callable[[str], None],
    begun: Begun | None,
    asked_at: float,
) -> Asked:
    """A reply to a conversation, in which there is room for it afterwards: what went is noted.

    begun: how the reply begins, if it is to go on. asked_at: seconds. Raises NextokError.
    """
    engine.rendering.settings = resolved.prompt
    room = Room(engine.rendering, engine.context_size, note)
    mode, limit = resolved.chat.on_full, resolved.stops.max_tokens
    room.make(conversation, mode=mode, max_tokens=limit, begun=begun)
    messages = conversation.messages()
    if begun is not None:
        messages = messages[:-1]
    tokens = engine.rendering.tokens(messages, begun)
    keep = room.kept_beginning(messages) if mode == "shift" else None
    if keep is not None and begun is not None:
        tokens = room.within(tokens, engine.cache, keep=keep)
    sampling = drawn(resolved, engine.weights)
    request = Request(
        asked_at=asked_at,
        tokens=tokens,
        sampling=sampling,
        max_tokens=limit,
        stops=stop_strings(resolved),
        splitter=splitter(tokens),
        think_budget=resolved.chat.think_budget,
        adapts=may_adapt(resolved),
        repeatable=is_repeatable(resolved),
        begun=(begun and begun.ids) or (),
        keep=keep,
    )
    return Asked(request=request, facts=facts(engine.loaded, tokens, sampling))
