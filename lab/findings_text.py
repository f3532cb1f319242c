"""Findings as JSON: what is read by programs, and laid out so that people can read it too."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from nextok.lab.findings import TIMES, Findings

_SENTENCES = "sentences"
_WIDE = 100
"""Characters of a line that lists of numbers are folded at."""


def as_object(findings: Findings) -> dict[str, object]:
    """All of it but the charts, whose figures are in the data.

    The same command gives the same object, but for `times`.
    """
    return {
        "experiment": findings.experiment,
        "title": findings.title,
        "command": findings.command,
        "model": findings.model,
        **({} if findings.timed else {_SENTENCES: list(findings.sentences)}),
        **{key: _plain(one) for key, one in _data(findings).items()},
    }


def _data(findings: Findings) -> Mapping[str, object]:
    """With the sentences that a clock has a say in among what else it has."""
    times = findings.data.get(TIMES)
    if not findings.timed or not isinstance(times, Mapping):
        return findings.data
    return {**findings.data, TIMES: {_SENTENCES: list(findings.sentences), **times}}


def _plain(value: object) -> object:
    """What JSON has words for: a number that is none, or has no end, is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def as_text(value: object) -> str:
    """JSON with a line for each key, and lists of plain values side by side."""
    return "\n".join(_lines(value, ""))


def _lines(value: object, indent: str) -> Iterator[str]:
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(flat) <= _WIDE or not isinstance(value, (Mapping, list, tuple)):
        yield flat
    elif isinstance(value, Mapping):
        heads = [f"{json.dumps(str(key), ensure_ascii=False)}: " for key in value]
        yield from _nested("{}", heads, list(value.values()), indent)
    elif any(isinstance(one, (Mapping, list, tuple)) for one in value):
        yield from _nested("[]", [""] * len(value), list(value), indent)
    else:
        yield from _folded(list(value), indent)


def _nested(brackets: str, heads: list[str], values: list[object], indent: str) -> Iterator[str]:
    yield brackets[0]
    inner = indent + " "
    for place, (head, value) in enumerate(zip(heads, values, strict=True), 1):
        first, *rest = _lines(value, inner)
        lines = [f"{inner}{head}{first}", *rest]
        lines[-1] += "," if place < len(values) else ""
        yield from lines
    yield indent + brackets[1]


def _folded(values: list[object], indent: str) -> Iterator[str]:
    yield "["
    line = indent
    for place, value in enumerate(values, 1):
        word = json.dumps(value, ensure_ascii=False) + ("," if place < len(values) else "")
        if len(line) + len(word) >= _WIDE and line.strip():
            yield line
            line = indent
        line += f" {word}"
    yield line
    yield indent + "]"
