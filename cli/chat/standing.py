"""Where a chat stands: what its bottom line says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nextok.cli.chat.bottom_line import BottomState

if TYPE_CHECKING:
    from nextok.cli.chat.session import Session


def standing(session: Session) -> BottomState:
    """Of the model, the context, the last reply and the branch."""
    engine, last = session.engine, session.last
    timings = last.outcome.finish.timings if last is not None else None
    branch = session.conversation.current_branch
    return BottomState(
        model=engine.weights.name if engine is not None else "no model",
        context_used=_used(session),
        context_size=engine.context_size if engine is not None else 0,
        ttft_seconds=timings.ttft_seconds if timings is not None else None,
        tokens_per_second=timings.decode_tokens_per_second if timings is not None else None,
        branch=None if branch == "main" else branch,
    )


def _used(session: Session) -> int:
    """What the conversation takes of the context, in tokens: after a reading that was cut what was
    read, and of a reply that has outgrown the context what is left in it.
    """
    reply = next(reversed(session.conversation.entries()), None)
    figures = reply.figures if reply is not None else {}
    parts = [figures.get(name, 0) for name in ("prompt_tokens", "completion_tokens")]
    used = sum(one for one in parts if isinstance(one, int))
    engine = session.engine
    if engine is None or not (session.is_cut_short or used > engine.context_size):
        return used
    return len(engine.cache.tokens) or min(used, engine.context_size)
