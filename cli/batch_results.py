"""Where a batch's results go, and which of them are there already.

Promises whole lines, each written as soon as it may be: in order where that was asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from nextok.cli.answer import json_text
from nextok.cli.batch_lines import Line, LineId
from nextok.generation.errors import OutputError, UsageError
from nextok.generation.finish import FinishReason

#: These will come out the same again, or have taken all the time there was.
_FINAL = frozenset(
    reason.value
    for reason in (
        FinishReason.EOS,
        FinishReason.STOP,
        FinishReason.LENGTH,
        FinishReason.CONTEXT,
        FinishReason.TIMEOUT,
    )
)
_BEGINNING = b'{"id": '


class Results:
    """Writes lines of JSON, in the order they come or in that of the places they have."""

    def __init__(self, write_line: Callable[[str], None], *, ordered: bool) -> None:
        self._write_line = write_line
        self._ordered = ordered
        self._next = 0
        self._held: dict[int, str] = {}

    def add(self, place: int, result: Mapping[str, object]) -> None:
        """place: from 0, each once."""
        if not self._ordered:
            self._write_line(json_text(result))
            return
        self._held[place] = json_text(result)
        self._release()

    def flush(self) -> None:
        """No more will come: write what was held back, whatever is missing between."""
        for place in sorted(self._held):
            self._write_line(self._held.pop(place))

    def _release(self) -> None:
        while self._next in self._held:
            self._write_line(self._held.pop(self._next))
            self._next += 1


class Done(NamedTuple):
    """What a file of results holds."""

    digests: Mapping[LineId, str]
    """Of the lines that need not be answered again."""
    length: int
    """Bytes of whole lines: the last one may have been cut."""

    def has(self, line: Line, name: str) -> bool:
        """Whether it is answered. UsageError when another line was, under its name."""
        digest = self.digests.get(line.id)
        if digest is None:
            return False
        if digest != line.digest:
            raise UsageError(
                f"{name} has an answer to another line of the name {line.id!r} than line "
                f"{line.number}: go on with the same prompts, or begin another file"
            )
        return True


def opened_results(name: str, inputs: str) -> tuple[int, Done]:
    """The file to add to, made if it is not there, and what it holds.

    inputs: the path of the prompts. Raises UsageError, OutputError.
    """
    if os.path.exists(inputs) and os.path.exists(name) and os.path.samefile(inputs, name):
        raise UsageError(f"--resume {name} is the file of the prompts: results go into another")
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        done = _read(descriptor, name)
        os.ftruncate(descriptor, done.length)
    except OSError as error:
        raise OutputError(f"cannot write {name}: {error.strerror}") from error
    return descriptor, done


def _read(descriptor: int, name: str) -> Done:
    """UsageError for what is no file of results: it would be spoilt."""
    digests: dict[LineId, str] = {}
    length = 0
    with os.fdopen(os.dup(descriptor), "rb") as file:
        for number, line in enumerate(file, 1):
            if line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:
                raise UsageError(
                    f"{name}, line {number} is no result of a batch: --resume takes a file that "
                    "holds nothing else"
                )
            if not line.endswith(b"\n"):
                break
            length += len(line)
            found = _result(line)
            if found is not None:
                digests[found[0]] = found[1]
    return Done(digests, length)


def _result(line: bytes) -> tuple[LineId, str] | None:
    """A final result's id and digest."""
    try:
        result = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict) or result.get("finish_reason") not in _FINAL:
        return None
    own_id, digest = result.get("id"), result.get("input")
    if isinstance(own_id, (str, int)) and isinstance(digest, str):
        return own_id, digest
    return None
