"""What a line of markdown begins with, told from as little of it as possible.

The functions look at a line's head, the containers' own marks already taken off. They never change
their mind: what they say of a head they say of every longer one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nextok.cli.chat.markdown_marks import (
    Blank,
    Fence,
    HeadingMark,
    Indented,
    ItemMark,
    Opening,
    QuoteMark,
    Rule,
    TableRow,
    Text,
    Unknown,
)

CODE_INDENT = 4
"""Columns that make a line code."""

LONGEST_HEAD = 1000
"""Characters after which a line that could still be anything is text."""

_LEAST_RULE = 3

_RULE = re.compile(r"([-*_])(?: *\1)* *")
_UNDERLINE = re.compile("=+ *")
_DIGITS = re.compile(r"[0-9]{1,9}")
_TASK = re.compile(r"\[([ xX])\](?: +|$)")
_TASK_SO_FAR = re.compile(r"\[(?:[ xX](?:\] *)?)?")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the line stands, its containers' marks taken off."""

    in_paragraph: bool
    """Whether text would go on with a paragraph."""
    in_item: bool
    """Whether the line belongs to a list item."""
    in_list: bool
    """Whether a new item would follow another one in its list."""


def opening(head: str, place: Place, *, whole: bool) -> Opening | Unknown:
    """What the line is; whole: whether `head` is all of it."""
    body = head.lstrip(" ")
    indent = len(head) - len(body)
    if not body:
        return Blank() if whole else Unknown()
    if len(head) > LONGEST_HEAD:
        return Text(length=indent)
    if indent >= CODE_INDENT:
        found = None
        if place.in_item:  # models indent what belongs to an item more than they need to
            found = _item(body, indent, place, whole) or _fence(body, indent, whole)
        return found or (Text(length=indent) if place.in_paragraph else Indented())
    return (
        _simple(body, indent, whole)
        or _heading(body, indent, whole)
        or _fence(body, indent, whole)
        or _rule(body, place, whole)
        or _item(body, indent, place, whole)
        or Text(length=indent)
    )


def is_item(head: str, *, whole: bool) -> bool | None:
    """Whether a list item begins after the spaces in front; None if that is not known yet."""
    place = Place(in_paragraph=False, in_item=False, in_list=True)
    body = head.lstrip(" ")
    if not body:
        return False if whole else None
    found = _rule(body, place, whole) or _item(body, 0, place, whole)
    return None if isinstance(found, Unknown) else isinstance(found, ItemMark)


def _simple(body: str, indent: int, whole: bool) -> Opening | Unknown | None:
    if body == ">" and not whole:
        return Unknown()
    if body[0] == ">":
        return QuoteMark(length=indent + (2 if body[1:2] == " " else 1))
    return TableRow(length=indent) if body[0] == "|" else None


def _heading(body: str, indent: int, whole: bool) -> Opening | Unknown | None:
    level = _run(body, "#")
    if not 1 <= level <= 6 or body[level:][:1] not in ("", " "):
        return None
    if not body.strip(" #"):  # one without a text shows nothing
        return Blank() if whole else Unknown()
    return HeadingMark(level=level, length=indent + level + 1)


def _fence(body: str, indent: int, whole: bool) -> Opening | Unknown | None:
    char = body[0]
    if char not in "`~":
        return None
    count = _run(body, char)
    info = body[count:]
    if (count < 3 and info) or (char == "`" and char in info):
        return None
    if not whole:
        return Unknown()
    return Fence(char=char, count=count, info=info.strip(), indent=indent) if count >= 3 else None


def _rule(body: str, place: Place, whole: bool) -> Opening | Unknown | None:
    underline = place.in_paragraph and _UNDERLINE.fullmatch(body)
    if not underline and not _RULE.fullmatch(body):
        return None
    if not whole:
        return Unknown()
    marks = body.count(body[0])
    if not underline and marks < _LEAST_RULE:
        return None
    # The shortest one below a text is hardly ever meant as CommonMark takes it: as an underline.
    is_underline = place.in_paragraph and (body[0] == "=" or marks > _LEAST_RULE)
    return Rule(is_underline=is_underline)


def _item(body: str, indent: int, place: Place, whole: bool) -> Opening | Unknown | None:
    size = _marker_size(body, whole)
    if isinstance(size, Unknown) or size is None:
        return size
    marker, rest = body[:size], body[size:]
    text = rest.lstrip(" ")
    if rest and text == rest:
        return None
    if not text and not whole:
        return Unknown()
    if place.in_paragraph and not place.in_list and (not text or _counts_on(marker)):
        return None
    spaces = len(rest) - len(text)
    length = size + (spaces if text and spaces <= CODE_INDENT else 1)
    return _with_task(body, length, marker, indent, whole)


def _marker_size(body: str, whole: bool) -> int | Unknown | None:
    """Characters of a list marker, whatever follows it."""
    if body[0] in "-*+":
        return 1
    digits = _DIGITS.match(body)
    if digits is None:
        return None
    if digits.end() == len(body):
        return None if whole else Unknown()
    return digits.end() + 1 if body[digits.end()] in ".)" else None


def _counts_on(marker: str) -> bool:
    """Whether a number is none that a list begins with after text: a year, an amount."""
    return marker[0].isdigit() and int(marker[:-1]) != 1


def _with_task(body: str, length: int, marker: str, indent: int, whole: bool) -> ItemMark | Unknown:
    text = body[length:]
    if not whole and text and _TASK_SO_FAR.fullmatch(text):
        return Unknown()
    task = _TASK.match(text)
    return ItemMark(
        marker=marker,
        length=indent + min(len(body), length + (task.end() if task else 0)),
        indent=indent + length,
        done=None if task is None else task[1] != " ",
    )


def _run(body: str, char: str) -> int:
    """How often `char` stands at the beginning."""
    return len(body) - len(body.lstrip(char))
