"""Commands that look behind the chat: the prompt, its tokens, the template, the figures."""

from __future__ import annotations

from collections.abc import Callable

from nextok.cli.chat.desk import Desk
from nextok.cli.chat.engine import Engine
from nextok.cli.chat.slash_settings import set_flag
from nextok.cli.console import one_line
from nextok.cli.report import two_lines
from nextok.generation.errors import UsageError

_SHOWN = 50
"""Characters of a message."""


def show(desk: Desk, rest: str) -> None:
    if rest not in VIEWS:
        raise UsageError(f"/show takes one of {', '.join(VIEWS)}")
    VIEWS[rest](desk)


def stats(desk: Desk, rest: str) -> None:
    last = desk.session.last
    if last is None:
        raise UsageError("no figures yet: there was no reply")
    for line in two_lines(last.facts, last.outcome):
        desk.screen.remark(line)


def tokens(desk: Desk, rest: str) -> None:
    """Of a text its tokens; else how many each message takes, and how many the prompt."""
    engine = _engine(desk)
    tokenizer = engine.weights.tokenizer
    if rest:
        ids = tokenizer.encode(rest)
        desk.screen.rows([(str(one), repr(tokenizer.text(one))) for one in ids])
        return
    messages = desk.session.conversation.messages()
    desk.screen.rows(
        [
            (
                f"{len(tokenizer.encode(one.content)):>8,}",
                f"{one.role}: {one_line(one.content[:_SHOWN])}",
            )
            for one in messages
        ]
    )
    whole = len(engine.rendering.tokens(messages).ids) if messages else 0
    cached = len(engine.cache.tokens)
    desk.screen.remark(
        f"{whole:,} of {engine.context_size:,} with the template; {cached:,} are in the cache"
    )


def _template(desk: Desk) -> None:
    desk.screen.say(_engine(desk).rendering.source or "the model has no chat template")


def _prompt(desk: Desk) -> None:
    """The exact text the model was given last, or would be given now."""
    messages = desk.session.conversation.messages()
    if not messages:
        raise UsageError("no prompt yet: nothing was said")
    if messages[-1].role == "assistant":
        del messages[-1]
    desk.screen.say(_engine(desk).rendering.tokens(messages).text)


def _engine(desk: Desk) -> Engine:
    if desk.session.engine is None:
        raise UsageError("no model is loaded: /model NAME loads one")
    return desk.session.engine


VIEWS: dict[str, Callable[[Desk], None]] = {
    "settings": lambda desk: set_flag(desk, ""),
    "template": _template,
    "stats": lambda desk: stats(desk, ""),
    "prompt": _prompt,
}
