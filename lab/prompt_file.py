"""A user's own prompts: one a line, or (in a .jsonl file) one JSON value a line.

A bad line is a UsageError that names its number. Knows no model.
"""

from __future__ import annotations

import json

from nextok.generation.errors import UsageError

_MOST_BYTES = 1 << 26
_BOM = b"\xef\xbb\xbf"


def read_prompts(path: str) -> tuple[str, ...]:
    """The prompts of a file, in its order. Blank lines are left out.

    A line of a .jsonl file is a text, or an object whose `prompt` is one; there a prompt may have
    several lines. Raises UsageError.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {path}: {reason}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} has more than {_MOST_BYTES >> 20} MiB: prompts are one a line")
    parse = _object if path.lower().endswith(".jsonl") else _text
    lines = enumerate(data.removeprefix(_BOM).split(b"\n"), 1)
    found = tuple(parse(line, f"{path}, line {number}") for number, line in lines if line.strip())
    if not found:
        raise UsageError(f"{path} holds no prompt: write one on each line")
    return found


def _text(line: bytes, place: str) -> str:
    try:
        return line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{place}: byte {error.start + 1} of the line is not UTF-8: save the file as UTF-8"
        ) from error


def _object(line: bytes, place: str) -> str:
    try:
        value = json.loads(_text(line, place))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: no JSON: each line is a text or an object") from error
    prompt = value.get("prompt") if isinstance(value, dict) else value
    if not isinstance(prompt, str):
        raise UsageError(f'{place}: no prompt: write "text" or {{"prompt": "text"}}')
    if not prompt.strip():
        raise UsageError(f"{place}: an empty prompt: fill it in or remove the line")
    return prompt
