"""From a conversation, or a raw text, to the tokens a model is given.

Promises that control tokens come from the template alone: what users wrote stays text, also
where it spells a control token's name, whole or in pieces. Without such a name the tokens are
those of the whole rendered text encoded at once, as the reference does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nextok.backends.chat_template import ChatTemplate
from nextok.generation.errors import TemplateError, UsageError
from nextok.generation.message import Message
from nextok.generation.model import Tokenizer
from nextok.generation.reasoning import opened_by

_PLANES: tuple[int, ...] = (0xF, 0x10, *range(4, 0xE))
"""Private-use planes of Unicode, then unassigned ones: each has room for all of plane 0."""
_MAX_PROBES = 40
_WORD = re.compile(r"[A-Za-z0-9_.-]*\Z")

Render = Callable[[Sequence[Message], Mapping[str, object]], str]


@dataclass(frozen=True, kw_only=True)
class ChatPrompt:
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
    whole = tokenizer.encode(text, special=True)
    tokens, names = whole, _control_names(tokenizer, whole)
    masked: list[str] = []
    while names:
        origin = _Origin(render, rendered, messages, variables, frozenset("".join(names)))
        parts = _Parts(tokenizer, text, names, origin)
        masked = parts.masked
        tokens = parts.encode() if masked else whole
        # A name can come to light only when a longer one around it has been masked.
        new = [name for name in _control_names(tokenizer, tokens) if name not in names]
        if not new:
            break
        names = [*names, *new]
    return ChatPrompt(
        text=text,
        tokens=tuple(_with_bos(tokenizer, tokens)),
        opens_reasoning=opened_by(rendered),
        masked=tuple(masked),
    )


def _with_bos(tokenizer: Tokenizer, tokens: list[int]) -> list[int]:
    bos = tokenizer.bos
    if bos is None:
        return tokens
    start = 0
    while start < len(tokens) and tokens[start] == bos:
        start += 1
    return [bos, *tokens[start:]]


def _control_names(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[str]:
    controls = filter(tokenizer.is_control, dict.fromkeys(tokens))
    return [name for name in map(tokenizer.text, controls) if name]


class _Origin:
    """Tells which characters of a rendered text come from the user, and which from the template.

    The conversation is rendered again with characters moved to a plane of Unicode that nobody
    uses, and those found there came from the user. A template that looks for some of the characters
    (splits at </think>) renders something else: then fewer are moved at a time, down to one.
    """

    def __init__(
        self,
        render: Render,
        rendered: str,
        messages: Sequence[Message],
        variables: Mapping[str, object],
        characters: frozenset[str],
    ) -> None:
        self._render, self._rendered = render, rendered
        self._messages, self._variables = messages, variables
        self._texts = [*_strings([message.fields() for message in messages]), *_strings(variables)]
        self._plane = _free_plane([rendered, *self._texts])
        last = chr(self._plane + 0xFFFF)
        self._moved = re.compile(f"[{chr(self._plane)}-{last}]")
        self._back = {self._plane + ord(char): char for char in characters}
        self._probes: list[str] = []
        self._tries = 0
        # White space is trimmed and quotes are escaped: moving them would change the text.
        movable = [char for char in characters if char <= "\uffff" and not _is_delicate(char)]
        self._seen = set(self._probe(sorted(movable, key=lambda char: (char.isalnum(), char))))

    def is_users(self, start: int, end: int, name: str) -> bool:
        """Whether any of the name at this place in the text is the user's."""
        if end > len(self._rendered):
            return True
        if self._seen.isdisjoint(name):
            # None of its characters can be followed: be on the safe side.
            return any(name in text for text in self._texts)
        return any(self._moved.search(probe, start, end) for probe in self._probes)

    def _probe(self, characters: Sequence[str]) -> Iterator[str]:
        """The characters among these that can be followed through the template."""
        if not characters or self._tries >= _MAX_PROBES:
            return
        self._tries += 1
        if self._follow(characters):
            yield from characters
        elif len(characters) > 1:
            half = len(characters) // 2
            yield from self._probe(characters[:half])
            yield from self._probe(characters[half:])

    def _follow(self, characters: Sequence[str]) -> bool:
        table = {ord(char): self._plane + ord(char) for char in characters}
        try:
            probe = self._render(
                [_moved_message(message, table) for message in self._messages],
                {name: _translated(value, table) for name, value in self._variables.items()},
            )
        except TemplateError:
            return False
        if probe.translate(self._back) != self._rendered:
            return False
        self._probes.append(probe)
        return True


class _Parts:
    """A text cut at the control tokens that are the template's own."""

    def __init__(
        self, tokenizer: Tokenizer, text: str, names: Sequence[str], origin: _Origin
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


def _free_plane(texts: Sequence[str]) -> int:
    """The first code point of a plane that no character of the texts is in."""
    used = {ord(char) >> 16 for text in texts for char in set(text) if char > "\uffff"}
    for plane in _PLANES:
        if plane not in used:
            return plane << 16
    raise UsageError("the conversation uses private characters of every plane of Unicode")


def _is_delicate(char: str) -> bool:
    return char.isspace() or not char.isprintable() or char in "\"'\\"


def _strings(value: object) -> Iterator[str]:
    """All the free text in a JSON-like value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(key)
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def _translated(value: object, table: Mapping[int, int]) -> object:
    if isinstance(value, str):
        # Templates compare single words (keys, types, efforts), and no word is a control token.
        return value if _WORD.match(value) else value.translate(table)
    if isinstance(value, Mapping):
        return {_translated(key, table): _translated(item, table) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_translated(item, table) for item in value]
    return value


def _moved_message(message: Message, table: Mapping[int, int]) -> Message:
    extra = {key: _translated(value, table) for key, value in message.extra.items()}
    return replace(message, content=message.content.translate(table), extra=extra)
