"""`nextok forget`: what nextok keeps of what was said, taken away for good."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED, FAILED
from nextok.cli.invocation import Invocation
from nextok.cli.question import agreed, can_ask, consents
from nextok.cli.remembered import Remembered, remembered
from nextok.cli.spelling import hint
from nextok.cli.units import size
from nextok.generation.errors import NextokError, UsageError

_COLUMNS = (
    Column(title="what", style="bold"),
    Column(title="size", right=True, style="green"),
    Column(title="where", fold=True),
)


def forget(invocation: Invocation) -> int:
    """Take away what is named, or all, once that is agreed to; without either, ask for each."""
    kinds = remembered()
    if invocation.resolved.journal.everything:
        if invocation.words:
            raise UsageError(f"--all is all of it: leave out {' '.join(invocation.words)!r}")
        return _at_once(kinds, invocation, command="nextok forget --all --yes")
    if invocation.words:
        named = [_named(word, kinds) for word in dict.fromkeys(invocation.words)]
        words = " ".join(one.name for one in named)
        return _at_once(named, invocation, command=f"nextok forget {words} --yes")
    return _one_by_one(kinds, invocation)


def _named(word: str, kinds: Sequence[Remembered]) -> Remembered:
    names = [one.name for one in kinds]
    if word not in names:
        known = hint(word, names) or f": there are {', '.join(names)}"
        raise UsageError(f"nextok keeps nothing called {word}{known}")
    return next(one for one in kinds if one.name == word)


def _at_once(kinds: Sequence[Remembered], invocation: Invocation, *, command: str) -> int:
    kept = [one for one in kinds if one.size_bytes]
    if not kept:
        invocation.console.note("there is nothing to forget")
        return ANSWERED
    if not invocation.resolved.hub.yes:
        _list(kept, invocation)
    total = size(sum(one.size_bytes for one in kept))
    if not consents(f"Forget all of this ({total})?", invocation, command=command):
        return FAILED
    return _forget(kept, invocation)


def _one_by_one(kinds: Sequence[Remembered], invocation: Invocation) -> int:
    kept = [one for one in kinds if one.size_bytes]
    if invocation.resolved.hub.yes:
        raise UsageError("say what to forget: nextok forget --all --yes, or one of its words")
    if not kept:
        invocation.console.note("there is nothing to forget")
        return ANSWERED
    _list(kept, invocation)
    if not can_ask(invocation.console):
        return ANSWERED
    agreed_to = [
        one for one in kept if agreed(f"Forget {one.what}?", invocation.console, default=False)
    ]
    if not agreed_to:
        invocation.console.note("nothing was forgotten")
        return ANSWERED
    return _forget(agreed_to, invocation)


def _list(kinds: Sequence[Remembered], invocation: Invocation) -> None:
    rows = [[one.name, size(one.size_bytes), str(one.path)] for one in kinds]
    print_columns(_COLUMNS, rows, invocation.resolved.output)


def _forget(kinds: Sequence[Remembered], invocation: Invocation) -> int:
    """What cannot go is said, and the rest goes all the same."""
    code = ANSWERED
    for one in kinds:
        try:
            one.forget()
        except NextokError as error:
            invocation.console.error(str(error))
            code = FAILED
    gone = [old.what for old, new in zip(kinds, _again(kinds), strict=True) if not new.size_bytes]
    if gone:
        invocation.console.note(f"forgotten: {', '.join(gone)}")
    return code


def _again(kinds: Sequence[Remembered]) -> Sequence[Remembered]:
    now = {one.name: one for one in remembered()}
    return [now[one.name] for one in kinds]
