"""What a list shows of a saved chat, and what a search finds in it.

Promises to decode no more lines than it must. Damaged lines are passed over in silence: to tell
of them is for who takes the chat up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.chat_reading import open_chat
from nextok.backends.chat_records import MESSAGE, MODEL, decode, lines, starts_with_type

_TITLE_CHARACTERS = 60
_CONTEXT_CHARACTERS = 100


@dataclass(frozen=True, kw_only=True)
class ChatInfo:
    """One row of the list."""

    name: str
    title: str
    """The beginning of the first thing the user said; empty if nothing was."""
    modified: float
    """When it was last written, in seconds since 1970."""
    messages: int
    """Of all branches."""
    model: str | None
    """The one talked to last."""
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class ChatMatch:
    """A message in which all words occur."""

    name: str
    """Of the chat."""
    role: str
    line: str
    """The part of the message where the first of the words is, as one line."""
    modified: float
    """When the chat was last written, in seconds since 1970."""


def chat_info(path: Path) -> ChatInfo:
    """Look through a whole file. Raises UsageError when it cannot be read."""
    title, model, messages = "", b"", 0
    with open(open_chat(path, os.O_RDONLY), "rb") as stream:
        status = os.fstat(stream.fileno())
        for _, line in lines(stream):
            if line is None or not line.endswith(b"\n"):
                continue
            if starts_with_type(line, MESSAGE):
                messages += 1
                title = title or _title(line)
            elif starts_with_type(line, MODEL):
                model = line
    return ChatInfo(
        name=path.stem,
        title=title,
        modified=status.st_mtime,
        messages=messages,
        model=_text(model, "name"),
        size_bytes=status.st_size,
    )


def matches(path: Path, words: Sequence[str]) -> Iterator[ChatMatch]:
    """Every message with all the words, whatever their case. Raises UsageError."""
    wanted = [word.casefold() for word in words]
    with open(open_chat(path, os.O_RDONLY), "rb") as stream:
        modified = os.fstat(stream.fileno()).st_mtime
        for _, line in lines(stream):
            if line is None or not starts_with_type(line, MESSAGE):
                continue
            content = _text(line, "content") or ""
            folded = content.casefold()
            if all(word in folded for word in wanted):
                yield ChatMatch(
                    name=path.stem,
                    role=_text(line, "role") or "",
                    line=_context(content, wanted[0] if wanted else ""),
                    modified=modified,
                )


def _title(line: bytes) -> str:
    """Empty unless it is the user's message."""
    if _text(line, "role") != "user":
        return ""
    return _shortened(" ".join((_text(line, "content") or "")[:1000].split()), _TITLE_CHARACTERS)


def _context(content: str, word: str) -> str:
    """The line with the word, or as much of it around the word as can be shown."""
    found = next((one for one in content.splitlines() if word in one.casefold()), content)
    line = " ".join(found.split())
    start = max(0, line.casefold().find(word) - _CONTEXT_CHARACTERS // 3)
    before = "…" if start else ""
    return before + _shortened(line[start:], _CONTEXT_CHARACTERS - len(before))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _text(line: bytes, field: str) -> str | None:
    """A field of a record, if there is one and it is a text."""
    with suppress(ValueError):
        value = decode(line).get(field)
        if isinstance(value, str):
            return value
    return None
