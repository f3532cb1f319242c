"""`[text](address "title")`: told from brackets that are mere text as soon as it can be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_LONGEST = 300
"""Characters of a link in the making that are held back before it is taken for text."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link, and where it ends in the text it was found in."""

    label: str
    address: str
    target: str
    """The address and, if there is one, the title behind it."""
    end: int

    @property
    def says_all(self) -> bool:
        """Whether the label is the address, or stands for it, so that it need not be repeated."""
        bare = self.address.removeprefix("mailto:").removeprefix("https://")
        bare = bare.removeprefix("http://").rstrip("/")
        shown = self.label or self.address
        return self.target == self.address and shown in (self.address, bare, f"{bare}/")


class NoLink(Enum):
    """Why there is none: it cannot become one, or more text is needed to tell."""

    NEVER = "never"
    UNKNOWN = "unknown"


def link_at(text: str, start: int) -> Link | NoLink:
    """The link that begins with the bracket at `start`; text is part of one line."""
    limit = min(len(text), start + _LONGEST)
    unknown = NoLink.UNKNOWN if limit < start + _LONGEST else NoLink.NEVER
    closing = _closing(text, start, limit, "[]")
    if closing < 0 or closing + 1 == limit:
        return unknown
    if text[closing + 1] != "(":
        return NoLink.NEVER
    at = _skip_spaces(text, closing + 2, limit)
    found = _address(text, at, limit)
    if found is None or found[1] == limit:
        return unknown
    address, after = found
    end = _end(text, after, limit)
    if isinstance(end, NoLink):
        return unknown if end is NoLink.UNKNOWN else end
    title = text[after : end - 1].strip()
    return Link(
        label=text[start + 1 : closing],
        address=address,
        target=f"{address} {title}" if title else address,
        end=end,
    )


def _closing(text: str, start: int, limit: int, pair: str) -> int:
    """Where the bracket opened at `start` closes; -1: not before `limit`."""
    depth, at = 0, start
    while at < limit:
        char = text[at]
        if char == "\\":
            at += 1
        elif char == pair[0]:
            depth += 1
        elif char == pair[1]:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


def _address(text: str, at: int, limit: int) -> tuple[str, int] | None:
    """The address that begins at `at` and where it ends; None: not before `limit`."""
    if text[at : at + 1] == "<":
        end = text.find(">", at, limit)
        return None if end < 0 else (text[at + 1 : end], end + 1)
    depth, end = 0, at
    while end < limit and not text[end].isspace():
        if text[end] == "\\":
            end += 1
        elif text[end] == "(":
            depth += 1
        elif text[end] == ")":
            depth -= 1
            if depth < 0:
                break
        end += 1
    return None if end >= limit else (text[at:end], end)


def _end(text: str, at: int, limit: int) -> int | NoLink:
    """Where the link ends whose address ended at `at`: after a title, if there is one."""
    inside = _skip_spaces(text, at, limit)
    if inside == limit:
        return NoLink.UNKNOWN
    if text[inside] == ")":
        return inside + 1
    if inside == at or text[inside] not in "\"'(":
        return NoLink.NEVER
    closing = text.find(")" if text[inside] == "(" else text[inside], inside + 1, limit)
    after = _skip_spaces(text, closing + 1, limit)
    if closing < 0 or after == limit:
        return NoLink.UNKNOWN
    return after + 1 if text[after] == ")" else NoLink.NEVER


def _skip_spaces(text: str, at: int, limit: int) -> int:
    while at < limit and text[at] == " ":
        at += 1
    return at
