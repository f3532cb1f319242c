"""What Enter does: whether a typed text is a whole message, or goes on in another line.

Two ways to go on: a line that ends in a backslash, and a block that triple quotes open and close.
A message can always be written so that it is read back exactly: that is how it is recalled.
"""

from __future__ import annotations

from dataclasses import dataclass

QUOTES = '"""'
GOES_ON = "\\"
"""At the end of a line."""
_SPECIAL = ("/", QUOTES)
"""Beginnings that may mean something else than the text itself."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """What was sent."""

    text: str
    quoted: bool
    """Whether it cannot be a command: it came between triple quotes, or began with a paste."""
    recalled: str
    """How it is to be typed for the same message."""


def entered(text: str, *, typed: bool, untouched: bool, is_text: bool = False) -> Message | None:
    """The message, now that Enter was pressed behind this text; None: it goes on.

    typed: its beginning was typed, not pasted. untouched: nothing was typed since the last paste,
    so that its end is no sign either. is_text: what it begins with is no command: it was pasted.
    """
    if opens_block(text, typed=typed):
        return None if untouched else _block(text)
    return (
        None
        if text.endswith(GOES_ON) and not untouched
        else _plain(text, quoted=is_text or (not typed and "\n" in text))
    )


def opens_block(text: str, *, typed: bool) -> bool:
    """Whether Enter is a line break in this text until the quotes are closed."""
    return typed and text.startswith(QUOTES)


def _block(text: str) -> Message | None:
    """Without its quotes and the line break next to each."""
    inside = text[len(QUOTES) :].rstrip()
    if not inside.endswith(QUOTES):
        return None
    inside = inside.removesuffix(QUOTES).removeprefix("\n").removesuffix("\n")
    return Message(text=inside, quoted=True, recalled=text)


def _plain(text: str, *, quoted: bool) -> Message:
    means_more = text.startswith(QUOTES) or (quoted and text.lstrip().startswith(_SPECIAL))
    recalled = in_quotes(text) if means_more or text.endswith(GOES_ON) else text
    return Message(text=text, quoted=quoted, recalled=recalled)


def in_quotes(text: str) -> str:
    """A block whose message is exactly this text."""
    return f"{QUOTES}\n{text}\n{QUOTES}"
