"""The lines of a saved chat: one JSON object each, whose "type" says what it is.

The first is the header; all others are the conversation's, of which only a few are understood
here. Promises that a line which was written can be read back.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import BinaryIO

FORMAT = 1
"""The version of the format, in the header."""
MOST_LINE_BYTES = 16 << 20
"""No line is longer, its newline included. A context of a million tokens fits."""

HEADER, MESSAGE, MODEL = "chat", "message", "model"
"""The types known here: {"type":"message","role":…,"content":…}, {"type":"model","name":…}."""


def encode(record: Mapping[str, object]) -> bytes:
    """One line, its type in front. ValueError when there is none, or a value is no JSON."""
    if not isinstance(record.get("type"), str):
        raise ValueError("a record of a chat has a type")
    ordered = {"type": record["type"], **record}
    text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can express
        return json.dumps(ordered, separators=(",", ":")).encode() + b"\n"


def header(created_seconds: float) -> bytes:
    """The first line of a chat that was begun so many seconds after 1970."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created_seconds))
    return encode({"type": HEADER, "version": FORMAT, "created": created})


def decode(line: bytes) -> dict[str, object]:
    """The record in a line. ValueError when there is none."""
    try:
        record = json.loads(line.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        raise ValueError("no record")
    return record


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Every line with the offset of its end; None for one that is too long to be read."""
    end = 0
    while line := stream.readline(MOST_LINE_BYTES + 1):
        end += len(line)
        too_long = len(line) > MOST_LINE_BYTES
        while too_long and not line.endswith(b"\n"):
            line = stream.readline(1 << 16)
            if not line:
                break
            end += len(line)
        yield end, None if too_long else line


def starts_with_type(line: bytes, kind: str) -> bool:
    """Whether a line that `encode` made is of this type, without decoding it."""
    return line.startswith(b'{"type":"%b"' % kind.encode())
