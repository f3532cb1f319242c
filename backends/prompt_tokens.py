"""From a conversation, or a raw text, to the tokens a model is given.

Promises that control tokens come from the template alone: what users wrote stays text, also
where it spells a control token's name, whole or in pieces. Without such a name the tokens are
those of the whole rendered text encoded at once, as the reference does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nextok.backends.chat_template import ChatTemplate
from nextok.backends.text_origin import Origin
from nextok.generation.message import Message
from nextok.generation.model import Tokenizer
from nextok.generation.reasoning import opened_by

_PIECE, _LONGEST_NAME = 16_384, 512


class ChatPrompt(NamedTuple):
    """A conversation as the model gets it."""

    text: str
    """As the template wrote it; a BOS token that the tokenizer adds is not in it."""
    tokens: tuple[int, ...]
    opens_reasoning: str | None
    """The opening tag that the template ends the prompt with, for ReasoningSplitter."""
    masked: tuple[str, ...]
    """Names of control tokens that occur in contents, and were kept as text."""


def raw_tokens(tokenizer: Tokenizer, text: str, special: bool) -> list[int]:
    """The tokens of a text as it stands, with the model's BOS, if it has one, once in front.

    `special` turns names of control tokens into control tokens.
    """
    return _with_bos(tokenizer, tokenizer.encode(text, special=special))


def chat_tokens(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Message],
    *,
    variables: Mapping[str, object],
    prefill: str = "",
) -> ChatPrompt:
    """The conversation, and the beginning of the reply to it, as text and tokens.

    Raises TemplateError from the template.
    """

    def render(marked: Sequence[Message], values: Mapping[str, object]) -> str:
        return template.render(marked, variables=values)

    rendered = render(messages, variables)
    text = rendered + prefill
    names = _names_in(tokenizer, text)
    while True:
        origin = Origin(render, rendered, messages, variables, frozenset("".join(names)))
        parts = _Parts(tokenizer, text, names, origin)
        tokens = parts.encode()
        # A name can come to light only when a longer one around it has been masked.
        new = [name for name in _control_names(tokenizer, tokens) if name not in names]
        if not new:
            break
        names += new
    return ChatPrompt(
        text=text,
        tokens=tuple(_with_bos(tokenizer, tokens)),
        opens_reasoning=opened_by(rendered),
        masked=tuple(parts.masked),
    )


def _with_bos(tokenizer: Tokenizer, tokens: list[int]) -> list[int]:
    bos = tokenizer.bos
    if bos is None:
        return tokens
    start = 0
    while start < len(tokens) and tokens[start] == bos:
        start += 1
    return [bos, *tokens[start:]]


def _names_in(tokenizer: Tokenizer, text: str) -> list[str]:
    """The names of control tokens in a text, found in pieces that overlap.

    An engine may take time that grows with the square of the names in one text, and users can
    write as many as they like.
    """
    names: dict[str, None] = {}
    for start in range(0, len(text), _PIECE):
        tokens = tokenizer.encode(text[start : start + _PIECE + _LONGEST_NAME], special=True)
        names.update(dict.fromkeys(_control_names(tokenizer, tokens)))
    return list(names)


def _control_names(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[str]:
    controls = filter(tokenizer.is_control, dict.fromkeys(tokens))
    return [name for name in map(tokenizer.text, controls) if name]


class _Parts:
    """A text cut at the control tokens that are the template's own."""

    def __init__(
        self, tokenizer: Tokenizer, text: str, names: Sequence[str], origin: Origin
    ) -> None:
        self._tokenizer, self._text = tokenizer, text
        self._own: list[tuple[int, int]] = []
        self._users: list[tuple[int, int]] = []
        found: dict[str, None] = {}
        for start, end, name in _occurrences(text, names):
            if origin.is_users(start, end, name):
                self._users.append((start, end))
                found[name] = None
            elif not self._own or start >= self._own[-1][1]:
                self._own.append((start, end))
        self.masked = list(found)

    def encode(self) -> list[int]:
        """All of it; stretches between control tokens are text if the user's names are in them.

        Such a stretch is encoded in one piece: the tokenizer, too, cuts at control tokens, so
        that nothing else about it changes.
        """
        tokens: list[int] = []
        done = 0
        for start, end in self._text_stretches():
            tokens += self._tokenizer.encode(self._text[done:start], special=True)
            tokens += self._tokenizer.encode(self._text[start:end])
            done = end
        return tokens + self._tokenizer.encode(self._text[done:], special=True)

    def _text_stretches(self) -> Iterator[tuple[int, int]]:
        users = iter(self._users)
        user = next(users, None)
        before: tuple[int, int] | None = None
        for after in (*self._own, None):
            start = before[1] if before else 0
            end = after[0] if after else len(self._text)
            holds = False
            while user is not None and user[0] < end:
                holds, user = holds or user[1] > start, next(users, None)
            if holds:
                yield self._shrunk(before, start, end, after)
            before = after

    def _shrunk(
        self, before: tuple[int, int] | None, start: int, end: int, after: tuple[int, int] | None
    ) -> tuple[int, int]:
        """Without the white space at its edges that the control token there swallows."""
        stretch = self._text[start:end]
        left = len(stretch) - len(stretch.lstrip())
        right = len(stretch) - len(stretch.rstrip())
        if before and left and self._same(self._text[before[0] : start + left], before):
            start += left
        if after and right and self._same(self._text[end - right : after[1]], after):
            end -= right
        return start, end

    def _same(self, spaced: str, control: tuple[int, int]) -> bool:
        """Whether the tokenizer makes nothing of the white space next to a control token."""
        alone = self._text[control[0] : control[1]]
        encode = self._tokenizer.encode
        return encode(spaced, special=True) == encode(alone, special=True)


def _occurrences(text: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Every place where a name stands, those that overlap too; longer names first."""
    found = []
    for name in names:
        start = text.find(name)
        while start >= 0:
            found.append((start, start + len(name), name))
            start = text.find(name, start + 1)
    return sorted(found, key=lambda place: (place[0], -place[1]))
