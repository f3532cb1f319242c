"""A model in several files, by the names llama.cpp gives the parts: NAME-00001-of-00003.gguf.

Knows names only; what is in the parts is for others to check.
"""

from __future__ import annotations

import re
from pathlib import Path

_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)


def part_number(path: Path) -> tuple[int, int] | None:
    """Which part of how many a name says the file is, from 1; None for a whole model."""
    match = _PART.fullmatch(path.name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    return (number, count) if 1 <= number <= count else None


def part_paths(path: Path) -> tuple[Path, ...]:
    """The paths of all parts in order, the given one being any of them; a whole model is one."""
    match = _PART.fullmatch(path.name)
    if match is None or part_number(path) is None:
        return (path,)
    count = match["count"]
    return tuple(
        path.with_name(f"{match['stem']}-{number:05d}-of-{count}.gguf")
        for number in range(1, int(count) + 1)
    )


def first_part(path: Path) -> Path:
    """The file to open for the model that `path` belongs to: the engine finds the others."""
    return part_paths(path)[0]
