"""One message of a conversation, and conversations written as JSON.

Promises plain text contents and roles that are single words. Refuses to know what a model makes
of them: that is its chat template's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from nextok.generation.errors import UsageError

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair that UTF-16 needs for one character: by itself it is none."""
_ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")


class _Message(NamedTuple):
    role: str
    content: str
    extra: Mapping[str, object]
    """What else a template may look at, kept as it came: reasoning_content, tool_calls, name."""


class Message(_Message):
    """Who says what. UsageError for a role that is not one word.

    Templates write roles between control tokens, so a role is never free text.
    """

    __slots__ = ()

    def __new__(
        cls, role: str, content: str, extra: Mapping[str, object] = MappingProxyType({})
    ) -> Message:
        if not _ROLE.match(role):
            raise UsageError(f"a role is one word like system, user, assistant: {role!r}")
        return super().__new__(cls, role, content, extra)

    def fields(self) -> dict[str, object]:
        """The message as chat templates expect it."""
        return {**self.extra, "role": self.role, "content": self.content}


def with_system_folded(messages: Sequence[Message]) -> list[Message]:
    """The system message at the head of the first user message, for templates without that role."""
    if len(messages) < 2 or messages[0].role != "system":
        return list(messages)
    system, first, *rest = messages
    return [first._replace(content=f"{system.content}\n\n{first.content}"), *rest]


def parse_messages(text: str) -> list[Message]:
    """The conversation in a JSON document: a list of messages, or an object with "messages".

    A content is a string or a list of text parts, which are joined by newlines as llama.cpp
    does. UsageError says what is wrong and in which message.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the messages are not JSON: {error}") from None
    except RecursionError:
        raise UsageError("the messages are not JSON that can be read: nested too deep") from None
    entries = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise UsageError('the messages must be a JSON list, or an object with a list "messages"')
    if not entries:
        raise UsageError("the list of messages is empty")
    messages = [_message(entry, f"messages[{index}]") for index, entry in enumerate(entries)]
    if "\\u" in text or SURROGATE.search(text):
        _refuse_surrogates(document)
    return messages


def _refuse_surrogates(document: object) -> None:
    """UsageError that names the place; JSON can write what is no character."""
    waiting = [("", document)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            parts = [(f"{where}.{key}".lstrip("."), one) for key, one in value.items()]
            waiting += [("a name in " + (where or "the messages"), key) for key in value]
            waiting += parts
        elif isinstance(value, list):
            waiting += [(f"{where or 'messages'}[{index}]", one) for index, one in enumerate(value)]
        elif isinstance(value, str):
            found = SURROGATE.search(value)
            if found:
                code = f"\\u{ord(found[0]):04x}"
                raise UsageError(
                    f"{where} has half a surrogate pair ({code}) at character {found.start() + 1}: "
                    "write the character itself, or both halves"
                )


def _message(entry: object, where: str) -> Message:
    if not isinstance(entry, dict):
        raise UsageError(f"{where} must be an object with role and content, not {_kind(entry)}")
    role = entry.get("role")
    if not isinstance(role, str):
        raise UsageError(f'{where} needs a "role": system, user, assistant, tool')
    if not _ROLE.match(role):
        raise UsageError(f"{where}.role must be one word like user, not {role!r}")
    extra = {key: value for key, value in entry.items() if key not in ("role", "content")}
    return Message(role, _content(entry, where), extra)


def _content(entry: Mapping[str, object], where: str) -> str:
    content = entry.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            _part(part, f"{where}.content[{index}]") for index, part in enumerate(content)
        )
    if content is None and entry.get("tool_calls"):
        return ""  # an assistant that only calls tools has nothing to say
    if content is None:
        raise UsageError(f'{where} needs a "content"')
    raise UsageError(f"{where}.content must be a string or a list of parts, not {_kind(content)}")


def _part(part: object, where: str) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part, dict) and part.get("type") not in (None, "text"):
        raise UsageError(f"{where} is of type {part['type']!r}: only text is supported")
    raise UsageError(f'{where} must be {{"type": "text", "text": "..."}}')


def _kind(value: object) -> str:
    """What JSON calls the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, (str, list)):
        return f"a {'list' if isinstance(value, list) else 'string'}"
    return "an object"
