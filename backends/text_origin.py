"""Tells, in a rendered conversation, what the user wrote from what the template wrote.

Promises an answer for each place in the text, without any help from the template, and the safe
one where there is doubt. Refuses to know of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import thread_time

from nextok.generation.errors import TemplateError, UsageError
from nextok.generation.message import Message

_PLANES: tuple[int, ...] = (0xF, 0x10, *range(4, 0xE))
"""Private-use planes of Unicode, then unassigned ones: each has room for all of plane 0."""
_MAX_PROBES = 40
_MAX_PROBE_SECONDS = 5.0
"""Of this thread's processor time: a template may be slow, but not forty times over."""
_WORD = re.compile(r"[A-Za-z0-9_.-]*\Z")

Render = Callable[[Sequence[Message], Mapping[str, object]], str]


class Origin:
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
        clock: Callable[[], float] = thread_time,
    ) -> None:
        self._render, self._rendered = render, rendered
        self._messages, self._variables = messages, variables
        self._texts = [*_strings([message.fields() for message in messages]), *_strings(variables)]
        self._plane = _free_plane([rendered, *self._texts])
        last = chr(self._plane + 0xFFFF)
        self._moved = re.compile(f"[{chr(self._plane)}-{last}]")
        self._back = {self._plane + ord(char): char for char in characters}
        self._probes: list[str] = []
        self._tries, self._clock = 0, clock
        self._deadline = clock() + _MAX_PROBE_SECONDS
        # White space is trimmed and quotes are escaped: moving them would change the text.
        movable = [char for char in characters if char <= "\uffff" and not _is_delicate(char)]
        self._followed = set(self._probe(sorted(movable, key=lambda char: (char.isalnum(), char))))

    def is_users(self, start: int, end: int, name: str) -> bool:
        """Whether any of the name at this place in the text is the user's."""
        if end > len(self._rendered):
            return True
        if self._followed.isdisjoint(name):
            # None of its characters can be followed: be on the safe side.
            return any(name in text for text in self._texts)
        return any(self._moved.search(probe, start, end) for probe in self._probes)

    def _probe(self, characters: Sequence[str]) -> Iterator[str]:
        """The characters among these that can be followed through the template."""
        spent = self._tries >= _MAX_PROBES or self._clock() > self._deadline
        if spent or not characters:
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
    return message._replace(content=message.content.translate(table), extra=extra)
