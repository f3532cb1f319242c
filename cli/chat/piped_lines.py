"""Standard input as messages: a line each, as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterator

from nextok.cli.prompt import decode, unescape
from nextok.cli.settings import PromptSettings
from nextok.cli.stdin import read_all, read_lines

_NAME = "standard input"


def piped_messages(settings: PromptSettings) -> Iterator[str]:
    """Those that are more than blank, without their line ends. UsageError for bytes that are none.

    With --escape a line can hold line breaks of its own.
    """
    for line in _lines(settings.encoding):
        text = line.removesuffix("\n").removesuffix("\r")
        if text.strip():
            yield unescape(text) if settings.escape else text


def _lines(encoding: str) -> Iterator[str]:
    if "\n".encode(encoding) != b"\n":  # UTF-16 and its kind: no byte by itself ends a line
        yield from decode(read_all(), _NAME, encoding).split("\n")
        return
    offset = 0
    for number, line in enumerate(read_lines(), start=1):
        yield decode(line, _NAME, encoding, offset=offset, line=number)
        offset += len(line)
