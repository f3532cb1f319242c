"""`nextok tokens`: the ids and pieces of a prompt."""

from __future__ import annotations

from collections.abc import Iterator

from nextok.cli.answer import json_text
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import load_prompt, plain_stdout

_WIDTH = 7


def tokens(invocation: Invocation) -> int:
    """Print one token a line, or one JSON object."""
    prompt, weights = load_prompt(invocation)
    pieces = [(token, weights.tokenizer.text(token)) for token in prompt.ids]
    stdout = plain_stdout()
    if invocation.resolved.output.json:
        listed = [{"id": token, "piece": piece} for token, piece in pieces]
        stdout.line(json_text({"tokens": listed}))
    else:
        stdout.text("".join(_lines(pieces)))
    return ANSWERED


def _lines(pieces: list[tuple[int, str]]) -> Iterator[str]:
    """The piece is quoted, so that white space in it can be seen."""
    for token, piece in pieces:
        yield f"{token:>{_WIDTH}}  {piece!r}\n"
